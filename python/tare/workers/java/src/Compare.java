package tare.worker;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/**
 * Whether what came back is what was loaded. Verdicts: same; type, when the value can be rebuilt knowing only its
 * type; lossy. Changes are counted under their path with [*] for every item. Java's widths of integers are one type:
 * a tree holds each in the narrowest, or as its library likes.
 */
final class Compare {
    /** What stands where a name is gone. */
    private static final Object MISSING = new Object();

    /** Above this a double stands for many whole numbers. */
    private static final BigDecimal EXACT = BigDecimal.valueOf(1L << 53);

    private final Map<String, Map<String, Object>> changes = new LinkedHashMap<>();

    static Map<String, Object> of(Object in, Object out, int limit) {
        Compare compare = new Compare();
        compare.walk(in, out, "");
        List<Map<String, Object>> found = new ArrayList<>(compare.changes.values());
        found.sort((a, b) -> a.get("verdict").toString().compareTo(b.get("verdict").toString())); // lossy before type
        Map<String, Object> reply = new LinkedHashMap<>();
        reply.put("verdict", found.isEmpty() ? "same" : found.get(0).get("verdict"));
        reply.put("changes", found.subList(0, Math.min(limit, found.size())));
        return reply;
    }

    private void note(String path, String verdict, Object in, Object out) {
        String where = path.isEmpty() ? "(whole)" : path;
        Map<String, Object> known = changes.get(where + "\n" + verdict);
        if (known != null) {
            known.put("count", (Integer) known.get("count") + 1);
            return;
        }
        Map<String, Object> made = new LinkedHashMap<>();
        made.put("path", where);
        made.put("verdict", verdict);
        made.put("count", 1);
        made.put("in", shown(in));
        made.put("out", shown(out));
        changes.put(where + "\n" + verdict, made);
    }

    private void walk(Object a, Object b, String path) {
        if (a == b) return;
        if (a instanceof Map && b instanceof Map) maps((Map<?, ?>) a, (Map<?, ?>) b, path);
        else if (a instanceof List && b instanceof List) lists((List<?>) a, (List<?>) b, path);
        else if (!same(a, b)) note(path, rebuilt(a, b) ? "type" : "lossy", a, b);
    }

    private void lists(List<?> a, List<?> b, String path) {
        if (a.size() != b.size()) note(path, "lossy", a, b);
        Iterator<?> other = b.iterator();
        String inner = path + "[*]";
        for (Object one : a) {
            if (!other.hasNext()) return;
            walk(one, other.next(), inner);
        }
    }

    private void maps(Map<?, ?> a, Map<?, ?> b, String path) {
        Iterator<?> order = b.keySet().iterator();
        boolean moved = false;
        for (Map.Entry<?, ?> one : a.entrySet()) {
            Object key = one.getKey();
            moved |= !order.hasNext() || !Objects.equals(key, order.next());
            String inner = path.isEmpty() ? String.valueOf(key) : path + "." + key;
            if (b.containsKey(key)) {
                walk(one.getValue(), b.get(key), inner);
            } else if (!(key instanceof String) && b.containsKey(String.valueOf(key))) {
                note(inner, "lossy", key, String.valueOf(key)); // nothing tells a number's name from a text
            } else {
                note(inner, "lossy", one.getValue(), MISSING);
            }
        }
        if (a.size() != b.size()) note(path, "lossy", a, b);
        else if (moved && a.keySet().equals(b.keySet())) note((path.isEmpty() ? "(whole)" : path) + " (key order)", "lossy", a.keySet(), b.keySet());
    }

    private static boolean integer(Object x) {
        return x instanceof Integer || x instanceof Long || x instanceof BigInteger || x instanceof Short || x instanceof Byte;
    }

    private static boolean same(Object a, Object b) {
        if (a == null || b == null) return a == b;
        if (integer(a) && integer(b)) return a.equals(b) || new BigInteger(a.toString()).equals(new BigInteger(b.toString()));
        if (a.getClass() != b.getClass()) return false;
        if (a instanceof byte[]) return Arrays.equals((byte[]) a, (byte[]) b);
        return a.equals(b); // of doubles and floats their bits, but any NaN is NaN
    }

    /** Whether b as the type of a is a. */
    private static boolean rebuilt(Object a, Object b) {
        if (a instanceof Double && b instanceof Float) return a.equals(((Float) b).doubleValue());
        if (a instanceof Float && b instanceof Double) return a.equals(((Double) b).floatValue());
        if (a instanceof Number && b instanceof Number) {
            if (!finite(a) || !finite(b) || minusZero(a) != minusZero(b)) return false;
            if (a instanceof Double) return ((Number) b).doubleValue() == (Double) a;
            if (a instanceof Float) return ((Number) b).floatValue() == (Float) a;
            if (integer(a) && (b instanceof Double || b instanceof Float) && exact(a).abs().compareTo(EXACT) > 0) return false;
            return exact(a).compareTo(exact(b)) == 0 && (!(a instanceof BigDecimal) || exact(a).scale() == exact(b).scale());
        }
        if (a == null || !(b instanceof String)) return false;
        if (a instanceof byte[]) return Base64.getEncoder().encodeToString((byte[]) a).equals(b);
        return !(a instanceof Map || a instanceof Iterable) && a.toString().equals(b);
    }

    private static boolean finite(Object x) {
        return !(x instanceof Double || x instanceof Float) || Double.isFinite(((Number) x).doubleValue());
    }

    private static boolean minusZero(Object x) {
        return (x instanceof Double || x instanceof Float) && Double.doubleToRawLongBits(((Number) x).doubleValue()) == Long.MIN_VALUE;
    }

    private static BigDecimal exact(Object x) {
        return x instanceof Double || x instanceof Float ? new BigDecimal(((Number) x).doubleValue()) : new BigDecimal(x.toString());
    }

    private static String shown(Object x) {
        if (x == null) return "null";
        if (x == MISSING) return "(missing)";
        String kind = x.getClass().getSimpleName();
        if (x instanceof Map) return kind + " of " + ((Map<?, ?>) x).size();
        if (x instanceof java.util.Collection) return kind + " of " + ((java.util.Collection<?>) x).size();
        if (x instanceof byte[]) return "byte[] of " + ((byte[]) x).length;
        String text = x.toString();
        return (text.length() > 100 ? text.substring(0, 100) + "..." : text) + " (" + kind + ")";
    }
}
