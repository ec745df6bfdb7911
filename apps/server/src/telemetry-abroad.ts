/** What the process log says of witnesses, outside logs, receivers of events and the collector of traces. */
import type { OutsideFault } from "@runseal/core/wire/log-answers"
import type { WitnessFault } from "./abroad/witnessing/ask-witness.ts"
import { StoreError } from "./store/driver/store-errors.ts"
import type { Counters, Lines, Log } from "./telemetry.ts"

const NOT_COSIGNED: { readonly [fault in WitnessFault]: string } = {
  unreachable: "a witness did not answer in time",
  refused: "a witness refused the checkpoint",
  invalid: "a witness gave an answer outside its protocol, or a cosignature that does not verify",
  contradicted:
    "a witness has cosigned what is not the past of this log: the database is an older copy or was forked, or the witness is wrong",
}

const NOT_ENTERED: { readonly [fault in OutsideFault]: string } = {
  unreachable: "the outside log did not answer in time",
  limited: "the outside log asks for fewer requests",
  failed: "the outside log failed",
  refused: "the outside log refuses an entry: nothing after it is delivered until it takes it",
  untimed: "the timestamp authority gave no timestamp that verifies: nothing is delivered until it does",
  invalid: "the outside log gave an answer outside its API, or an entry that does not verify: the answer is discarded",
}

/** A failure of the database is debug here: the requests that it fails report it already. */
export const levelOf = (error: unknown): "debug" | "error" => (error instanceof StoreError ? "debug" : "error")

type Abroad = Pick<
  Lines,
  | "witnessBack"
  | "notCosigned"
  | "roundFailed"
  | "outsideBack"
  | "notEntered"
  | "deliveryFailed"
  | "eventNotDelivered"
  | "receiverBack"
  | "deliveriesFailed"
  | "collectorChanged"
>

export function reportAbroad(logger: Log, counters: Counters): Abroad {
  return {
    witnessBack: witness => logger.info({ witness }, "a witness cosigns again"),
    notCosigned: (witness, refusal, log_size) => {
      counters.notCosigned(witness, refusal.fault)
      const level = refusal.fault === "contradicted" ? "error" : "warn"
      logger[level]({ witness, ...refusal, log_size }, NOT_COSIGNED[refusal.fault])
    },
    roundFailed: err => logger[levelOf(err)]({ err }, "the witnesses were not asked"),
    outsideBack: (outside_log, log_index) =>
      logger.info({ outside_log, log_index }, "the outside log takes entries again"),
    notEntered: (outside_log, log_index, { retryAfterMs: _, ...refusal }) => {
      counters.notEntered(refusal.fault)
      const level = refusal.fault === "refused" || refusal.fault === "invalid" ? "error" : "warn"
      logger[level]({ outside_log, log_index, ...refusal }, NOT_ENTERED[refusal.fault])
    },
    deliveryFailed: err => logger[levelOf(err)]({ err }, "nothing was delivered to the outside log"),
    eventNotDelivered: (destination_id, fault, isFirst) => {
      counters.eventNotDelivered(destination_id, fault)
      if (isFirst) logger.warn({ destination_id, fault }, "a receiver takes no events: they wait until it does")
    },
    receiverBack: destination_id => logger.info({ destination_id }, "a receiver takes events again"),
    deliveriesFailed: err => logger[levelOf(err)]({ err }, "events were not delivered"),
    collectorChanged: takes =>
      takes
        ? logger.info("the collector of traces takes spans again")
        : logger.warn("the collector of traces takes no spans: they are lost, and nothing else is"),
  }
}
