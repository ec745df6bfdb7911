import { Counter, Gauge, Histogram, type Registry } from "prom-client"

/** Makers of the metrics of a registry. */
export const metricsOf = (registry: Registry) => {
  const registers = [registry]
  return {
    counter: <Label extends string>(name: string, help: string, ...labelNames: Label[]) =>
      new Counter({ name, help, labelNames, registers }),
    histogram: (name: string, help: string, buckets: number[]) => new Histogram({ name, help, buckets, registers }),
    gauge: <Label extends string>(name: string, help: string, ...labelNames: Label[]) =>
      new Gauge({ name, help, labelNames, registers }),
    /** @param read called for each exposition; a rejection leaves the last value */
    readGauge: (name: string, help: string, read: () => Promise<number | undefined>): void => {
      const gauge: Gauge = new Gauge({
        name,
        help,
        registers,
        collect: async () => {
          const value = await read().catch(() => undefined)
          if (value !== undefined) gauge.set(value)
        },
      })
    },
  }
}
