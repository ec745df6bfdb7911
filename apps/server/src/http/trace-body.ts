/** The body of `POST /v1/traces`: protobuf or JSON, plain or compressed, unpacked within the bounds of other large bodies. */
import { createGunzip, createInflate, createZstdDecompress } from "node:zlib"
import { concatBytes, countNodes } from "@runseal/canonical"
import { NOT_EXPANDED } from "@runseal/core/presentation/saved-text"
import type { Context } from "hono"
import { HttpError, unavailable } from "../http-error.ts"
import { bodyLimits, receiveBytes, roomForParsing } from "./json-body.ts"

/** Most values of a body: it is decoded in one piece, which holds the event loop. */
const MAX_VALUES = 262_144
const TYPES = { "application/x-protobuf": "protobuf", "application/json": "json" } as const
type Decoder = ReturnType<(typeof CODINGS)[keyof typeof CODINGS]>
type Encoding = (typeof TYPES)[keyof typeof TYPES]

/**
 * @param fieldsOf how many fields a body in protobuf has; the second argument if there are more
 * @throws HttpError 400 for another type or coding, 413 for size, 503 when the memory budget does not allow it
 */
export async function readTraces(
  c: Context,
  fieldsOf: (bytes: Uint8Array, most: number) => number,
): Promise<{ readonly encoding: Encoding; readonly bytes: Uint8Array }> {
  const { headers } = c.req.raw
  const type = (headers.get("content-type") ?? "").split(";")[0]?.trim().toLowerCase()
  const encoding = type === "application/x-protobuf" || type === "application/json" ? TYPES[type] : undefined
  if (encoding === undefined)
    throw new HttpError("invalid_body", "Content-Type must be application/x-protobuf or application/json.")
  const coding = (headers.get("content-encoding") ?? "identity").trim().toLowerCase()
  const decoder = isCoding(coding) ? CODINGS[coding] : undefined
  if (coding !== "identity" && decoder === undefined)
    throw new HttpError("invalid_body", "Content-Encoding must be gzip, zstd or deflate, or absent.")
  const { maxBytes } = bodyLimits(c)
  const sent = await receiveBytes(c, maxBytes)
  const bytes = decoder === undefined ? sent : await unpacked(sent, decoder(), maxBytes)
  const values = (encoding === "json" ? countNodes : fieldsOf)(bytes, MAX_VALUES + 1)
  if (values > MAX_VALUES) throw refuseTraces(`The body has more than ${MAX_VALUES} values and keys.`)
  await roomForParsing(c, bytes, values)
  return { encoding, bytes }
}

/** What exporters and collectors compress with (RFC 9110 section 8.4.1, RFC 8878). */
const CODINGS = { gzip: createGunzip, zstd: createZstdDecompress, deflate: createInflate }
const isCoding = (coding: string): coding is keyof typeof CODINGS => Object.hasOwn(CODINGS, coding)

/** @param maxBytes also of what is unpacked */
async function unpacked(sent: Uint8Array, decoder: Decoder, maxBytes: number): Promise<Uint8Array> {
  decoder.end(sent)
  const parts: Uint8Array[] = []
  let size = 0
  try {
    for await (const part of decoder) {
      size += part.length
      if (size > maxBytes) break
      parts.push(part)
    }
  } catch {
    throw refuseTraces(`The body ${NOT_EXPANDED}.`)
  }
  if (size > maxBytes)
    throw new HttpError("body_too_large", `The body is larger than ${maxBytes} bytes once it is unpacked.`)
  // Node ignores zeros behind the end.
  if (decoder.bytesWritten !== sent.length) throw refuseTraces(`The body ${NOT_EXPANDED}.`)
  return concatBytes(...parts)
}

/** Refuses a body that is no request of OTLP. */
export const refuseTraces = (sentence: string): HttpError => new HttpError("invalid_body", sentence)

/** Asks that a request be sent again: 503 with Retry-After, which exporters repeat; they drop what is answered 409. */
export const retryTraces = (sentence: string): HttpError => unavailable(sentence)
