/** How long a bench measures. */

export type Plan = {
  /** Callers in rotation, so that no budget and no chain is everybody's. */
  readonly keys: number
  /** Seconds a server is under load before anything is counted: its code is compiled meanwhile. */
  readonly heatSeconds: number
  /** Seconds before each count. */
  readonly warmSeconds: number
  /** Seconds of each count. */
  readonly seconds: number
  readonly connections: readonly number[]
  /** Transactions that the yardstick may have open; its best is taken. */
  readonly lanes: readonly number[]
  /** Rounds in which the ceiling, the service and the yardstick are measured in turn. */
  readonly rounds: number
  /** Seconds of the long count; 0 for none. */
  readonly sustainedSeconds: number
  /** Minutes under load in which memory is looked at. */
  readonly memoryMinutes: number
}

/** Connections of every measurement that is not about their number. */
export const USUAL_CONNECTIONS = 64

export const WHOLE: Omit<Plan, "memoryMinutes"> = {
  keys: 1000,
  heatSeconds: 6,
  warmSeconds: 1,
  seconds: 5,
  connections: [1, 8, 64, 256],
  lanes: [1, 2, 4, 6],
  rounds: 3,
  sustainedSeconds: 60,
}

export const QUICK: Omit<Plan, "memoryMinutes"> = {
  keys: 200,
  heatSeconds: 2.5,
  warmSeconds: 0.3,
  seconds: 1.5,
  connections: [8, 64],
  lanes: [2],
  rounds: 1,
  sustainedSeconds: 0,
}
