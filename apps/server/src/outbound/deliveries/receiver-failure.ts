/** Why a receiver did not take an event, as a closed code: no text of a receiver or a library is stored or shown. */
import type { DeliveryFault } from "@runseal/core/wire/delivery-messages"
import { AddressRefused } from "./receiver-address.ts"

export type Failure = {
  readonly fault: DeliveryFault
  /** HTTP status of a receiver that refused; 0: none. */
  readonly status: number
  /** Wait that the receiver asks for, in milliseconds. */
  readonly retry_after_ms?: number | undefined
}

/** Codes of Node for a handshake or a certificate that failed. */
const TLS_CODE = /^(?:ERR_(?:TLS|SSL)_|CERT_|UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_|EPROTO$)/

export function failureOf(error: unknown): Failure {
  if (error instanceof AddressRefused) return { fault: "address_refused", status: 0 }
  const code = error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : ""
  return { fault: TLS_CODE.test(code) ? "tls_failed" : "unreachable", status: 0 }
}
