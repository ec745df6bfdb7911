/**
 * What moves the total of a budget window. `charge`: tokens of a run, or what a closed permit spent beyond its reservation. `reserve`: those of
 * a permit. `settle`: what a closed permit did not spend, as a negative count. `release`: a reservation that ended without a close.
 */
export type MovementKind = "charge" | "reserve" | "settle" | "release"
