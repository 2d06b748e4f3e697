package tare.worker;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;

/** JSON of the protocol and of what is loaded: the JDK has none. Maps keep their order. */
final class Json {
    private static final int MOST_DEEP = 5000;
    private static final Pattern NUMBER = Pattern.compile("-?(0|[1-9][0-9]*)(\\.[0-9]+)?([eE][+-]?[0-9]+)?");
    private final String text;
    private int at;
    private int depth;

    private Json(String text) {
        this.text = text;
    }

    static Object read(byte[] bytes) {
        String text;
        try {
            text = StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes)).toString();
        } catch (CharacterCodingException error) {
            throw new IllegalArgumentException("not UTF-8");
        }
        Json json = new Json(text);
        Object value = json.value();
        json.blank();
        if (json.at < text.length()) throw json.bad("something after the value");
        return value;
    }

    private IllegalArgumentException bad(String what) {
        return new IllegalArgumentException(what + " at character " + at);
    }

    private void blank() {
        while (at < text.length() && " \t\r\n".indexOf(text.charAt(at)) >= 0) at++;
    }

    private char peek() {
        blank();
        if (at >= text.length()) throw bad("the text ends too early");
        return text.charAt(at);
    }

    private Object value() {
        char c = peek();
        switch (c) {
            case '{': return object();
            case '[': return array();
            case '"': return string();
            case 't': return word("true", Boolean.TRUE);
            case 'f': return word("false", Boolean.FALSE);
            case 'n': return word("null", null);
            default: return number();
        }
    }

    private Object word(String word, Object value) {
        if (!text.startsWith(word, at)) throw bad("no value");
        at += word.length();
        return value;
    }

    private void deeper() {
        if (++depth > MOST_DEEP) throw bad("deeper than " + MOST_DEEP);
        at++;
    }

    private Map<String, Object> object() {
        deeper();
        Map<String, Object> made = new LinkedHashMap<>();
        if (peek() != '}') {
            while (true) {
                if (peek() != '"') throw bad("no name");
                String name = string();
                if (peek() != ':') throw bad("no colon");
                at++;
                made.put(name, value());
                if (peek() == '}') break;
                if (peek() != ',') throw bad("no comma");
                at++;
            }
        }
        at++;
        depth--;
        return made;
    }

    private List<Object> array() {
        deeper();
        List<Object> made = new ArrayList<>();
        if (peek() != ']') {
            while (true) {
                made.add(value());
                if (peek() == ']') break;
                if (peek() != ',') throw bad("no comma");
                at++;
            }
        }
        at++;
        depth--;
        return made;
    }

    /** Up to the quote or the first backslash, whichever is nearer: what lies behind is not looked at. */
    private String string() {
        int from = ++at;
        char c = 0;
        for (; at < text.length() && (c = text.charAt(at)) != '"' && c != '\\'; at++) if (c < ' ') throw bad("a control character in a text");
        if (at < text.length() && c == '"') return text.substring(from, at++);
        StringBuilder made = new StringBuilder(text.substring(from, at));
        while (true) {
            if (at >= text.length()) throw bad("a text without end");
            c = text.charAt(at++);
            if (c == '"') return made.toString();
            if (c < ' ') throw bad("a control character in a text");
            made.append(c == '\\' ? escape() : c);
        }
    }

    private char escape() {
        if (at >= text.length()) throw bad("a text without end");
        char c = text.charAt(at++);
        if (c == 'u') {
            if (at + 4 > text.length()) throw bad("a text without end");
            int unit = 0;
            for (int n = 0; n < 4; n++) {
                int digit = Character.digit(text.charAt(at++), 16);
                if (digit < 0) throw bad("no hex digit");
                unit = unit * 16 + digit;
            }
            return (char) unit;
        }
        int known = "\"\\/bfnrt".indexOf(c);
        if (known < 0) throw bad("no such escape");
        return "\"\\/\b\f\n\r\t".charAt(known);
    }

    private Number number() {
        int from = at;
        boolean whole = true;
        if (text.charAt(at) == '-') at++;
        int first = at;
        while (at < text.length() && "0123456789+-.eE".indexOf(text.charAt(at)) >= 0) {
            if (!Character.isDigit(text.charAt(at))) whole = false;
            at++;
        }
        String found = text.substring(from, at);
        if (at == first || !NUMBER.matcher(found).matches()) throw bad("no value");
        if (!whole) return Double.valueOf(found);
        if (found.equals("-0")) return 0;
        return found.length() < 19 ? narrow(Long.parseLong(found)) : narrow(new BigInteger(found));
    }

    /** An integer in the narrowest of Integer, Long and BigInteger that holds it. */
    static Number narrow(BigInteger value) {
        return value.bitLength() < 64 ? narrow(value.longValue()) : value;
    }

    static Number narrow(long value) {
        if (value == (int) value) return (int) value;
        return value;
    }

    static String write(Object value) {
        StringBuilder out = new StringBuilder();
        write(value, out);
        return out.toString();
    }

    private static void write(Object value, StringBuilder out) {
        if (value instanceof Map) {
            String sign = "{";
            for (Map.Entry<?, ?> one : ((Map<?, ?>) value).entrySet()) {
                out.append(sign);
                quote(String.valueOf(one.getKey()), out);
                out.append(':');
                write(one.getValue(), out);
                sign = ",";
            }
            out.append(sign.equals("{") ? "{}" : "}");
        } else if (value instanceof List) {
            String sign = "[";
            for (Object one : (List<?>) value) {
                out.append(sign);
                write(one, out);
                sign = ",";
            }
            out.append(sign.equals("[") ? "[]" : "]");
        } else if (value instanceof long[]) {
            String sign = "[";
            for (long one : (long[]) value) {
                out.append(sign).append(one);
                sign = ",";
            }
            out.append(']');
        } else if (value == null || value instanceof Boolean || value instanceof Number && !(value instanceof BigDecimal)) {
            out.append(value);
        } else {
            quote(value.toString(), out);
        }
    }

    private static void quote(String text, StringBuilder out) {
        out.append('"');
        for (int n = 0; n < text.length(); n++) {
            char c = text.charAt(n);
            if (c == '"' || c == '\\') out.append('\\').append(c);
            else if (c < ' ' || c > '~') out.append(String.format("\\u%04x", (int) c));
            else out.append(c);
        }
        out.append('"');
    }
}
