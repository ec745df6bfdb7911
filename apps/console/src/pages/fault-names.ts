/** Why a receiver did not take an event, in words. */
import type { DeliveryFault } from "@runseal/core/wire/delivery-messages"

export const FAULT_NAMES: Readonly<Record<DeliveryFault, string>> = {
  unreachable: "it cannot be reached",
  timed_out: "it did not answer in time",
  tls_failed: "TLS failed",
  address_refused: "its address is not allowed",
  refused: "it refused",
}
