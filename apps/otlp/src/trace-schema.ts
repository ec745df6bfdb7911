/**
 * The messages of OTLP that are read, by the field numbers of opentelemetry-proto 1.x (`trace/v1/trace.proto`, `common/v1/common.proto`,
 * `resource/v1/resource.proto`, `collector/trace/v1/trace_service.proto`). Fields that are not named here are skipped.
 */
import protobuf from "protobufjs/light.js"

/** A text that was cut within a character, as by a limit of bytes. What is no UTF-8 is read as U+FFFD, so that no span beside it is lost. */
const TEXT = { type: "string", options: { features: { utf8_validation: "NONE" } } }

const root = protobuf.Root.fromJSON({
  nested: {
    AnyValue: {
      oneofs: {
        value: { oneof: ["stringValue", "boolValue", "intValue", "doubleValue", "arrayValue", "kvlistValue"] },
      },
      fields: {
        stringValue: { ...TEXT, id: 1 },
        boolValue: { type: "bool", id: 2 },
        intValue: { type: "int64", id: 3 },
        doubleValue: { type: "double", id: 4 },
        arrayValue: { type: "ArrayValue", id: 5 },
        kvlistValue: { type: "KeyValueList", id: 6 },
      },
    },
    ArrayValue: { fields: { values: { rule: "repeated", type: "AnyValue", id: 1 } } },
    KeyValueList: { fields: { values: { rule: "repeated", type: "KeyValue", id: 1 } } },
    KeyValue: { fields: { key: { ...TEXT, id: 1 }, value: { type: "AnyValue", id: 2 } } },
    Resource: { fields: { attributes: { rule: "repeated", type: "KeyValue", id: 1 } } },
    Status: { fields: { code: { type: "int32", id: 3 } } },
    Span: {
      fields: {
        traceId: { type: "bytes", id: 1 },
        spanId: { type: "bytes", id: 2 },
        parentSpanId: { type: "bytes", id: 4 },
        name: { ...TEXT, id: 5 },
        startTimeUnixNano: { type: "fixed64", id: 7 },
        endTimeUnixNano: { type: "fixed64", id: 8 },
        attributes: { rule: "repeated", type: "KeyValue", id: 9 },
        status: { type: "Status", id: 15 },
      },
    },
    ScopeSpans: { fields: { spans: { rule: "repeated", type: "Span", id: 2 } } },
    ResourceSpans: {
      fields: {
        resource: { type: "Resource", id: 1 },
        scopeSpans: { rule: "repeated", type: "ScopeSpans", id: 2 },
      },
    },
    ExportTraceServiceRequest: { fields: { resourceSpans: { rule: "repeated", type: "ResourceSpans", id: 1 } } },
    ExportTracePartialSuccess: {
      fields: { rejectedSpans: { type: "int64", id: 1 }, errorMessage: { type: "string", id: 2 } },
    },
    ExportTraceServiceResponse: { fields: { partialSuccess: { type: "ExportTracePartialSuccess", id: 1 } } },
  },
})
root.resolveAll()
const REQUEST = root.lookupType("ExportTraceServiceRequest")
const RESPONSE = root.lookupType("ExportTraceServiceResponse")

/** The type of the length-delimited fields, which messages are. */
const LENGTH_DELIMITED = 2

/**
 * How many fields of a request are read, before it is: each becomes a value. Bytes that are no request are counted as far as they can be.
 * @returns `most` where there are more
 */
export function countFields(bytes: Uint8Array, most: number): number {
  const reader = protobuf.Reader.create(bytes)
  const within: { readonly type: protobuf.Type; readonly end: number }[] = [{ type: REQUEST, end: bytes.length }]
  let fields = 0
  try {
    for (let message = within.at(-1); message !== undefined && fields < most; message = within.at(-1)) {
      if (reader.pos >= message.end) {
        within.pop()
        continue
      }
      const tag = reader.uint32()
      const field = message.type.fieldsById[tag >>> 3]
      if (field !== undefined) fields++
      if (field?.resolvedType instanceof protobuf.Type && (tag & 7) === LENGTH_DELIMITED) {
        const length = reader.uint32()
        within.push({ type: field.resolvedType, end: reader.pos + length })
      } else reader.skipType(tag & 7)
    }
  } catch {
    // What is no message of protobuf is refused when it is decoded.
  }
  return fields
}

/** The request in the form that OTLP has in JSON, but for ids, which are bytes: 64-bit numbers are decimal texts. @throws Error for bytes that are none */
export function fromProtobuf(bytes: Uint8Array): unknown {
  return REQUEST.toObject(REQUEST.decode(bytes), { longs: String })
}

export type PartialSuccess = { readonly rejectedSpans: number; readonly errorMessage: string }

export const toProtobuf = (partialSuccess: PartialSuccess | undefined): Uint8Array<ArrayBuffer> =>
  new Uint8Array(RESPONSE.encode(RESPONSE.fromObject(partialSuccess === undefined ? {} : { partialSuccess })).finish())
