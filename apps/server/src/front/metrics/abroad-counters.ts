/** What is counted of witnesses, outside logs, receivers of events and the collector of traces. */
import { OUTSIDE_FAULTS } from "@runseal/core/wire/log-answers"
import type { Registry } from "prom-client"
import type { Counters } from "../../telemetry.ts"
import { metricsOf } from "./metric-makers.ts"

export const countAbroad = (registry: Registry) => ({
  ...countWitnesses(registry),
  ...countOutside(registry),
  ...countDeliveries(registry),
  ...countOwnSpans(registry),
})

/** Destinations are named by admin keys, and there are 32 at most. */
function countDeliveries(registry: Registry): Pick<Counters, "eventsDelivered" | "eventNotDelivered"> {
  const { counter } = metricsOf(registry)
  const delivered = counter("runseal_events_delivered_total", "Events that a receiver took.", "destination")
  const faults = counter(
    "runseal_event_failures_total",
    "Attempts to deliver an event that failed, by destination and fault.",
    ...(["destination", "fault"] as const),
  )
  return {
    eventsDelivered: (destination, events) => delivered.inc({ destination: `${destination}` }, events),
    eventNotDelivered: (destination, fault) => faults.inc({ destination: `${destination}`, fault }),
  }
}

function countWitnesses(registry: Registry): Pick<Counters, "cosigned" | "notCosigned" | "witnessed"> {
  const { counter, gauge } = metricsOf(registry)
  const size = gauge("runseal_witness_cosigned_entries", "Entries of the tree that a witness cosigned last.", "witness")
  const time = gauge(
    "runseal_witness_cosigned_time_seconds",
    "When a witness cosigned last, by its clock, in Unix seconds.",
    "witness",
  )
  const faults = counter(
    "runseal_witness_failures_total",
    "Requests for a cosignature that brought none, by witness and fault.",
    ...(["witness", "fault"] as const),
  )
  const witnessed = gauge("runseal_witnessed_entries", "Entries of the last tree that enough witnesses cosigned.")
  return {
    cosigned: (witness, entries, seconds) => {
      size.set({ witness }, entries)
      time.set({ witness }, seconds)
    },
    notCosigned: (witness, fault) => faults.inc({ witness, fault }),
    witnessed: entries => witnessed.set(entries),
  }
}

function countOutside(registry: Registry): Pick<Counters, "entered" | "notEntered"> {
  const { counter } = metricsOf(registry)
  const entered = counter(
    "runseal_outside_entries_total",
    "Entries that the outside log holds and this process stored, by whether they came late.",
    "late",
  )
  const faults = counter(
    "runseal_outside_failures_total",
    "Attempts to deliver to the outside log that failed, by fault.",
    "fault",
  )
  for (const late of ["false", "true"]) entered.inc({ late }, 0)
  for (const fault of OUTSIDE_FAULTS) faults.inc({ fault }, 0)
  return {
    entered: late => entered.inc({ late: `${late}` }),
    notEntered: fault => faults.inc({ fault }),
  }
}

function countOwnSpans(registry: Registry): Pick<Counters, "ownSpans"> {
  const { counter } = metricsOf(registry)
  const ownSpans = counter(
    "runseal_own_spans_total",
    "Spans of this service's own traces, by what became of them.",
    "fate",
  )
  for (const fate of ["exported", "failed", "dropped"]) ownSpans.inc({ fate }, 0)
  return { ownSpans: (fate, spans) => ownSpans.inc({ fate }, spans) }
}
