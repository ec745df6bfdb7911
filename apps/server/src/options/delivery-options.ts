/** Options of the delivery of events. */
import * as v from "valibot"
import { option } from "./option-row.ts"
import { DELIVERY_NETWORKS } from "./values.ts"

export const DELIVERY_OPTIONS = {
  deliveryNetworks: option(
    "--delivery-network <network>",
    "network in which [receivers of events](events.md#receivers) may be, besides public addresses, such as `10.0.0.0/8`; in one of this machine, such as `127.0.0.1`, also without TLS, and syslog over TCP in each of them; repeatable, the variable holds several with spaces between",
    v.optional(DELIVERY_NETWORKS),
    { otherwise: "public addresses only", repeatable: true },
  ),
}
