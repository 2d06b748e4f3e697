package tare.worker;

import java.util.Map;

/** The fields of a request, or of an object in one. */
final class Request {
    private final Map<String, Object> fields;

    Request(Map<String, Object> fields) {
        this.fields = fields;
    }

    Object get(String name) {
        return fields.get(name);
    }

    boolean has(String name) {
        return fields.get(name) != null;
    }

    boolean is(String name, Object value) {
        return value.equals(fields.get(name));
    }

    String text(String name) {
        Object found = fields.get(name);
        if (found instanceof String) return (String) found;
        throw OpError.usage(fields.get("op") + " needs '" + name + "', a text");
    }

    String text(String name, String otherwise) {
        return has(name) ? text(name) : otherwise;
    }

    double number(String name, double otherwise) {
        Object found = fields.get(name);
        if (found == null) return otherwise;
        if (found instanceof Number) return ((Number) found).doubleValue();
        throw OpError.usage("'" + name + "' is a number");
    }

    /** Refuses a field that has another value than the only one that is measured here. */
    void only(String name, String value) {
        if (has(name) && !is(name, value)) throw OpError.unsupported("this worker measures " + name + "=" + value, "io");
    }
}
