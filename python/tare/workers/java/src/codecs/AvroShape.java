// needs: avro jackson-databind jackson-core jackson-annotations slf4j-api
package tare.worker.codecs;

import java.math.BigInteger;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.regex.Pattern;
import org.apache.avro.Schema;

/**
 * What stands at one place of a document, and the schema that holds all of it. A union may have one array and one
 * type for objects here: all lists of a place share the type of their items. Objects are a record if all of them have
 * the same names in the same order, each a name to Avro; else they are a map, since a field that an object has not
 * would come back as null.
 */
final class AvroShape {
    private static final int MOST_DEEP = 1000; // where the library's JSON of a schema ends too
    private static final Pattern NAME = Pattern.compile("[A-Za-z_][A-Za-z0-9_]*");
    private static final Schema.Type[] PLAIN = {
        Schema.Type.NULL, Schema.Type.BOOLEAN, Schema.Type.LONG, Schema.Type.FLOAT, Schema.Type.DOUBLE,
        Schema.Type.STRING, Schema.Type.BYTES,
    };
    private final Set<Schema.Type> plain = EnumSet.noneOf(Schema.Type.class);
    private AvroShape items; // of all lists
    private Map<String, AvroShape> members; // of all objects
    private boolean alike = true;

    /** The schema of each of the values. */
    static Schema of(List<?> values) {
        AvroShape shape = new AvroShape();
        for (Object one : values) shape.add(one, 0);
        return shape.schema(new AtomicInteger());
    }

    private void add(Object value, int depth) {
        if (depth > MOST_DEEP) throw new IllegalArgumentException("deeper than " + MOST_DEEP + ": Avro's schema has every level");
        if (value instanceof List) {
            if (items == null) items = new AvroShape();
            for (Object one : (List<?>) value) items.add(one, depth + 1);
        } else if (value instanceof Map) {
            Map<?, ?> map = (Map<?, ?>) value;
            for (Object name : map.keySet()) {
                if (!(name instanceof String)) throw new IllegalArgumentException("names are text in Avro, not " + named(name));
            }
            meet(map.keySet());
            map.forEach((name, one) -> member((String) name).add(one, depth + 1));
        } else {
            plain.add(typeOf(value));
        }
    }

    private void merge(AvroShape other) {
        plain.addAll(other.plain);
        if (other.items != null) {
            if (items == null) items = new AvroShape();
            items.merge(other.items);
        }
        if (other.members != null) {
            meet(other.members.keySet());
            alike &= other.alike;
            other.members.forEach((name, shape) -> member(name).merge(shape));
        }
    }

    /** Another object with these names. */
    private void meet(Set<?> names) {
        if (members == null) members = new LinkedHashMap<>();
        else if (alike) alike = sameOrder(members.keySet(), names);
    }

    private AvroShape member(String name) {
        return members.computeIfAbsent(name, any -> new AvroShape());
    }

    private static boolean sameOrder(Set<?> names, Set<?> others) {
        if (names.size() != others.size()) return false;
        Iterator<?> other = others.iterator();
        for (Object name : names) if (!name.equals(other.next())) return false;
        return true;
    }

    private static Schema.Type typeOf(Object value) {
        if (value == null) return Schema.Type.NULL;
        if (value instanceof Boolean) return Schema.Type.BOOLEAN;
        if (value instanceof Integer || value instanceof Long) return Schema.Type.LONG;
        if (value instanceof Float) return Schema.Type.FLOAT;
        if (value instanceof Double) return Schema.Type.DOUBLE;
        if (value instanceof String) return Schema.Type.STRING;
        if (value instanceof byte[]) return Schema.Type.BYTES;
        if (value instanceof BigInteger) throw new IllegalArgumentException("an integer beyond the 64 bits of Avro's long");
        throw new IllegalArgumentException("no type of Avro is inferred for " + named(value));
    }

    private static String named(Object value) {
        return value == null ? "null" : value.getClass().getName();
    }

    /** Records are numbered: a name of a field may be a word that generated code cannot have, or stand twice. */
    private Schema schema(AtomicInteger records) {
        List<Schema> found = new ArrayList<>();
        for (Schema.Type type : PLAIN) if (plain.contains(type)) found.add(Schema.create(type));
        if (items != null) found.add(Schema.createArray(items.schema(records)));
        if (members != null) found.add(objects(records));
        if (found.isEmpty()) return Schema.create(Schema.Type.NULL); // what an empty list has
        return found.size() == 1 ? found.get(0) : Schema.createUnion(found);
    }

    private Schema objects(AtomicInteger records) {
        if (!alike || !members.keySet().stream().allMatch(name -> NAME.matcher(name).matches())) {
            AvroShape all = new AvroShape();
            for (AvroShape one : members.values()) all.merge(one);
            return Schema.createMap(all.schema(records));
        }
        String name = "Record" + records.incrementAndGet();
        List<Schema.Field> fields = new ArrayList<>();
        members.forEach((field, shape) -> fields.add(new Schema.Field(field, shape.schema(records))));
        return Schema.createRecord(name, null, null, false, fields);
    }
}
