/** What the main thread asks of the thread that makes reports. */
import type { TrustedKeys } from "@runseal/core/transparency-log/trusted-keys"
import type { ReportFormat } from "@runseal/core/wire/runs"

export type RenderJob = {
  /** The sealed document as stored. */
  readonly bundle: string
  readonly format: ReportFormat
  /** Address of the service, without a final slash. */
  readonly base_url: string
  /** Address of the public bundle; only when the run is published. */
  readonly public_url?: string
  /** Unix seconds from which the service key counts that signs the report. */
  readonly key_valid_from: number
  /** The service's own trust: the report says what its own verification found, and that it is its own. */
  readonly trust: TrustedKeys
}
