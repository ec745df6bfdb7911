/** Options of the delivery of events. */
import * as v from "valibot"
import { option } from "./option-row.ts"
import { DELIVERY_NETWORKS } from "./values.ts"

export const DELIVERY_OPTIONS = {
  deliveryNetworks: option(
    "--delivery-network <network>",
    "network, such as `10.0.0.0/8`, in which [receivers of events](events.md#receivers) may be besides public addresses; syslog may go there without TLS, and webhooks too where it is of this machine, such as `127.0.0.1`; repeatable, the variable holds several with spaces between",
    v.optional(DELIVERY_NETWORKS),
    { otherwise: "public addresses only", repeatable: true },
  ),
}
