package tare.worker;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.time.Duration;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.OffsetDateTime;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.time.ZonedDateTime;
import java.time.temporal.Temporal;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.UUID;

/** Tagged values, dialect values/1, as values of Java; what Java has not is NotHere. */
final class Tagged {
    /** Java has no such value. */
    static final class NotHere extends RuntimeException {
        private static final long serialVersionUID = 1L;

        NotHere(String what) {
            super("Java has no " + what);
        }
    }

    private final Map<Object, List<Object>> defined = new HashMap<>();

    static Object read(Object node) {
        return new Tagged().from(node);
    }

    private Object from(Object node) {
        if (node instanceof List) {
            List<Object> made = new ArrayList<>();
            for (Object one : (List<?>) node) made.add(from(one));
            return made;
        }
        if (!(node instanceof Map)) return node;
        Map<?, ?> map = (Map<?, ?>) node;
        for (Object key : map.keySet()) {
            if (((String) key).startsWith("$")) return tag((String) key, map.get(key), map);
        }
        Map<String, Object> made = new LinkedHashMap<>();
        for (Map.Entry<?, ?> one : map.entrySet()) made.put((String) one.getKey(), from(one.getValue()));
        return made;
    }

    private Object tag(String tag, Object value, Map<?, ?> node) {
        switch (tag) {
            case "$int": return Json.narrow(new BigInteger((String) value));
            case "$f64": return Double.longBitsToDouble(Long.parseUnsignedLong((String) value, 16));
            case "$f32": return Float.intBitsToFloat(Integer.parseUnsignedInt((String) value, 16));
            case "$dec": return new BigDecimal((String) value);
            case "$bytes": return Base64.getDecoder().decode((String) value);
            case "$text16": return units((String) value);
            case "$date": return LocalDate.parse((String) value);
            case "$time": return LocalTime.parse((String) value);
            case "$ts": return stamp((String) value, (String) node.get("tz"));
            case "$dur": return duration(((Number) value).longValue(), (String) node.get("unit"));
            case "$uuid": return UUID.fromString((String) value);
            case "$set": return new LinkedHashSet<>((List<?>) from(value));
            case "$map": return pairs((List<?>) value);
            case "$nest": {
                Object made = from(node.get("of"));
                for (int n = ((Number) value).intValue(); n > 0; n--) made = new ArrayList<>(Arrays.asList(made));
                return made;
            }
            case "$def": {
                if (!(node.get("of") instanceof List)) throw new NotHere("shared value but a list");
                List<Object> made = new ArrayList<>();
                defined.put(value, made);
                for (Object one : (List<?>) node.get("of")) made.add(from(one));
                return made;
            }
            case "$ref": return defined.get(value);
            case "$tuple": throw new NotHere("tuples");
            default: throw new NotHere("type for " + tag);
        }
    }

    private static String units(String hex) {
        StringBuilder made = new StringBuilder();
        for (int at = 0; at < hex.length(); at += 4) made.append((char) Integer.parseInt(hex.substring(at, at + 4), 16));
        return made.toString();
    }

    private static Object stamp(String text, String zone) {
        if (text.contains(":60")) throw new NotHere("leap seconds");
        if (zone == null) return LocalDateTime.parse(text);
        OffsetDateTime at = OffsetDateTime.parse(text);
        return zone.matches("[+-].*|Z") ? at : ZonedDateTime.ofInstant(at.toInstant(), ZoneId.of(zone));
    }

    private static Duration duration(long value, String unit) {
        switch (unit) {
            case "s": return Duration.ofSeconds(value);
            case "ms": return Duration.ofMillis(value);
            case "us": return Duration.ofSeconds(Math.floorDiv(value, 1_000_000L), Math.floorMod(value, 1_000_000L) * 1000);
            default: return Duration.ofNanos(value);
        }
    }

    private Map<Object, Object> pairs(List<?> pairs) {
        Map<Object, Object> made = new LinkedHashMap<>();
        for (Object pair : pairs) {
            Object key = from(((List<?>) pair).get(0));
            if (made.containsKey(key)) throw new NotHere("maps with a key twice");
            made.put(key, from(((List<?>) pair).get(1)));
        }
        return made;
    }

    // --- writing -----------------------------------------------------------------------------

    /** The tagged form, as a tree for Json.write; a container met twice is defined and referred to. */
    static Object write(Object value) {
        Sharing sharing = new Sharing();
        sharing.count(value);
        return sharing.of(value);
    }

    private static Map<String, Object> tagged(String tag, Object value) {
        Map<String, Object> made = new LinkedHashMap<>();
        made.put(tag, value);
        return made;
    }

    private static final int NEST_FROM = 64;
    private static final int MOST_NEST = 1 << 20;

    private static final class Sharing {
        private final Map<Object, Integer> met = new java.util.IdentityHashMap<>();
        private final Map<Object, Integer> numbers = new java.util.IdentityHashMap<>();

        void count(Object value) {
            Iterable<?> parts = value instanceof Map ? ((Map<?, ?>) value).values() : value instanceof Iterable ? (Iterable<?>) value : null;
            if (parts != null && met.merge(value, 1, Integer::sum) == 1) for (Object one : parts) count(one);
        }

        Object of(Object value) {
            if (!(value instanceof Map || value instanceof Iterable)) return scalar(value);
            if (met.get(value) == 1) return container(value);
            Integer known = numbers.get(value);
            if (known != null) return tagged("$ref", known);
            numbers.put(value, numbers.size() + 1);
            Map<String, Object> made = tagged("$def", numbers.get(value));
            made.put("of", container(value));
            return made;
        }

        private Object container(Object value) {
            if (value instanceof Map) return map((Map<?, ?>) value);
            int depth = 0;
            Object inner = value;
            while (lone(inner) && depth < MOST_NEST) {
                depth++;
                inner = ((List<?>) inner).get(0);
            }
            if (depth > NEST_FROM) { // JSON parsers have limits of their own
                Map<String, Object> nest = tagged("$nest", depth);
                nest.put("of", of(inner));
                return nest;
            }
            List<Object> made = new ArrayList<>();
            for (Object one : (Iterable<?>) value) made.add(of(one));
            return value instanceof List ? made : value instanceof java.util.Set ? tagged("$set", made) : other(value);
        }

        private boolean lone(Object value) {
            return value instanceof List && ((List<?>) value).size() == 1 && met.get(value) == 1;
        }

        private Object map(Map<?, ?> map) {
            boolean plain = map.keySet().stream().allMatch(key -> key instanceof String && !((String) key).startsWith("$") && whole((String) key));
            Map<String, Object> made = new LinkedHashMap<>();
            List<Object> pairs = new ArrayList<>();
            for (Map.Entry<?, ?> one : map.entrySet()) {
                if (plain) made.put((String) one.getKey(), of(one.getValue()));
                else pairs.add(Arrays.asList(of(one.getKey()), of(one.getValue())));
            }
            return plain ? made : tagged("$map", pairs);
        }
    }

    private static Object scalar(Object value) {
        if (value == null || value instanceof Boolean) return value;
        if (value instanceof String) return whole((String) value) ? value : tagged("$text16", hexUnits((String) value));
        if (value instanceof Double) return tagged("$f64", String.format("%016x", Double.doubleToRawLongBits((Double) value)));
        if (value instanceof Float) return tagged("$f32", String.format("%08x", Float.floatToRawIntBits((Float) value)));
        if (value instanceof BigDecimal) return tagged("$dec", value.toString());
        if (value instanceof BigInteger || value instanceof Integer || value instanceof Long || value instanceof Short || value instanceof Byte) {
            BigInteger found = new BigInteger(value.toString());
            return found.abs().bitLength() <= 53 ? (Object) found.longValue() : tagged("$int", found.toString());
        }
        if (value instanceof byte[]) return tagged("$bytes", Base64.getEncoder().encodeToString((byte[]) value));
        if (value instanceof UUID) return tagged("$uuid", value.toString());
        if (value instanceof LocalDate) return tagged("$date", value.toString());
        if (value instanceof LocalTime) return tagged("$time", LocalDate.EPOCH.atTime((LocalTime) value).format(fraction(((LocalTime) value).getNano())).substring(11));
        if (value instanceof Duration) return span((Duration) value);
        if (value instanceof Temporal) return moment((Temporal) value);
        return other(value);
    }

    private static Object other(Object value) {
        throw new IllegalArgumentException("no tag for " + value.getClass().getName());
    }

    private static Object span(Duration value) {
        boolean fine = value.getNano() % 1000 != 0;
        Map<String, Object> made = tagged("$dur", fine ? value.toNanos() : value.getSeconds() * 1_000_000L + value.getNano() / 1000);
        made.put("unit", fine ? "ns" : "us");
        return made;
    }

    private static Object moment(Temporal value) {
        String zone = null;
        String end = "";
        LocalDateTime local;
        if (value instanceof LocalDateTime) {
            local = (LocalDateTime) value;
        } else if (value instanceof OffsetDateTime || value instanceof ZonedDateTime) {
            ZoneOffset offset = ZoneOffset.from(value);
            local = LocalDateTime.from(value);
            end = offset.getTotalSeconds() == 0 ? "+00:00" : offset.getId();
            ZoneId id = value instanceof ZonedDateTime ? ((ZonedDateTime) value).getZone() : offset;
            zone = id instanceof ZoneOffset ? end : id.getId();
        } else {
            return other(value);
        }
        Map<String, Object> made = tagged("$ts", local.format(fraction(local.getNano())) + end);
        made.put("unit", local.getNano() % 1000 != 0 ? "ns" : "us");
        made.put("tz", zone);
        return made;
    }

    private static java.time.format.DateTimeFormatter fraction(int nanos) {
        return java.time.format.DateTimeFormatter.ofPattern("uuuu-MM-dd'T'HH:mm:ss." + (nanos % 1000 != 0 ? "SSSSSSSSS" : "SSSSSS"));
    }

    private static boolean whole(String text) {
        for (int n = 0; n < text.length(); n++) {
            char c = text.charAt(n);
            if (!Character.isSurrogate(c)) continue;
            if (Character.isHighSurrogate(c) && n + 1 < text.length() && Character.isLowSurrogate(text.charAt(n + 1))) n++;
            else return false;
        }
        return true;
    }

    private static String hexUnits(String text) {
        StringBuilder made = new StringBuilder();
        for (char c : text.toCharArray()) made.append(String.format("%04x", (int) c));
        return made.toString();
    }
}
