// needs: avro jackson-databind jackson-core jackson-annotations slf4j-api
package tare.worker.codecs;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.avro.Conversion;
import org.apache.avro.Conversions;
import org.apache.avro.LogicalType;
import org.apache.avro.Schema;
import org.apache.avro.data.TimeConversions;
import org.apache.avro.generic.GenericData;
import org.apache.avro.generic.GenericDatumReader;
import org.apache.avro.generic.GenericDatumWriter;
import org.apache.avro.io.DatumReader;
import org.apache.avro.io.DatumWriter;
import org.apache.avro.io.Decoder;
import org.apache.avro.io.Encoder;

/** Avro's generic data as the trees that the worker has: records are maps in the order of their fields, bytes byte[]. */
final class AvroTrees extends GenericData {
    private static final int MOST_ROOM = 1 << 16; // made at once for what a file says of its length

    AvroTrees() {
        setFastReaderEnabled(false); // it makes the library's own records only
        addLogicalTypeConversion(new Conversions.UUIDConversion());
        addLogicalTypeConversion(new Conversions.DecimalConversion());
        addLogicalTypeConversion(new TimeConversions.DateConversion());
        addLogicalTypeConversion(new TimeConversions.TimeMillisConversion());
        addLogicalTypeConversion(new TimeConversions.TimeMicrosConversion());
        addLogicalTypeConversion(new TimeConversions.LocalTimestampMillisConversion());
        addLogicalTypeConversion(new TimeConversions.LocalTimestampMicrosConversion());
        addLogicalTypeConversion(new TimeConversions.LocalTimestampNanosConversion());
        addLogicalTypeConversion(new Moments(new TimeConversions.TimestampMillisConversion()));
        addLogicalTypeConversion(new Moments(new TimeConversions.TimestampMicrosConversion()));
        addLogicalTypeConversion(new Moments(new TimeConversions.TimestampNanosConversion()));
    }

    DatumWriter<Object> writer(Schema schema) {
        return new GenericDatumWriter<Object>(schema, this) {
            @Override protected void writeBytes(Object datum, Encoder out) throws IOException {
                out.writeBytes((byte[]) datum);
            }
        };
    }

    DatumReader<Object> reader() {
        return new Reader(this);
    }

    @Override public Object newRecord(Object old, Schema schema) {
        return new LinkedHashMap<String, Object>();
    }

    @Override public Object newMap(Object old, int size) {
        return new LinkedHashMap<Object, Object>();
    }

    @Override public Object newArray(Object old, int size, Schema schema) {
        return new ArrayList<Object>(Math.min(size, MOST_ROOM));
    }

    @Override public Object createEnum(String symbol, Schema schema) {
        return symbol;
    }

    @SuppressWarnings("unchecked")
    @Override public void setField(Object record, String name, int position, Object value) {
        ((Map<String, Object>) record).put(name, value);
    }

    @Override public Object getField(Object record, String name, int position) {
        return ((Map<?, ?>) record).get(name);
    }

    /** A schema that was inferred has one type for objects in a union: a record or a map. */
    @Override public int resolveUnion(Schema union, Object datum) {
        if (!(datum instanceof Map)) return super.resolveUnion(union, datum);
        List<Schema> types = union.getTypes();
        int at = types.size() - 1;
        while (types.get(at).getType() != Schema.Type.RECORD && types.get(at).getType() != Schema.Type.MAP) at--;
        return at;
    }

    @Override protected String getSchemaName(Object datum) {
        if (datum instanceof Integer) return "long"; // the only type of integers that is inferred
        return datum instanceof byte[] ? "bytes" : super.getSchemaName(datum);
    }

    private static final class Reader extends GenericDatumReader<Object> {
        Reader(GenericData data) {
            super(null, null, data);
        }

        @Override protected Class<?> findStringClass(Schema schema) {
            return String.class;
        }

        @Override protected Object readBytes(Object old, Schema schema, Decoder in) throws IOException {
            if (converted(schema)) return super.readBytes(old, schema, in);
            ByteBuffer found = in.readBytes(null);
            byte[] bytes = new byte[found.remaining()];
            found.get(bytes);
            return bytes;
        }

        @Override protected Object readFixed(Object old, Schema schema, Decoder in) throws IOException {
            if (converted(schema)) return super.readFixed(old, schema, in);
            byte[] bytes = new byte[schema.getFixedSize()];
            in.readFixed(bytes, 0, bytes.length);
            return bytes;
        }

        /** Conversions take the library's own classes. */
        private boolean converted(Schema schema) {
            return getData().getConversionFor(schema.getLogicalType()) != null;
        }
    }

    /** Moments are Instant to the library, and have the offset of UTC as tagged values. */
    private static final class Moments extends Conversion<OffsetDateTime> {
        private final Conversion<Instant> inner;

        Moments(Conversion<Instant> inner) {
            this.inner = inner;
        }

        @Override public Class<OffsetDateTime> getConvertedType() {
            return OffsetDateTime.class;
        }

        @Override public String getLogicalTypeName() {
            return inner.getLogicalTypeName();
        }

        @Override public OffsetDateTime fromLong(Long value, Schema schema, LogicalType type) {
            return inner.fromLong(value, schema, type).atOffset(ZoneOffset.UTC);
        }
    }
}
