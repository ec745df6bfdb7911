/** What a bundle is asked for with. docs/api.md, "GET /runs/{id}/artifacts". */
import { artifactsQuerySchema, bundleQuerySchema, reportQuerySchema } from "@runseal/api/queries"
import {
  BUNDLE_FORM_DEFAULT,
  type BundleAddition,
  type BundleForm,
  REPORT_FORMAT_DEFAULT,
  type ReportFormat,
} from "@runseal/core/wire/run-summaries"
import { readQuery } from "./query.ts"

/** The requested form of a bundle, and what it is asked for with. */
export function readBundleQuery(url: string): { readonly form: BundleForm; readonly with: BundleAddition | undefined } {
  const { form = BUNDLE_FORM_DEFAULT, with: addition } = readQuery(artifactsQuerySchema, url)
  return { form, with: addition }
}

/** What a public bundle is asked for with. */
export const readPublicQuery = (url: string): BundleAddition | undefined => readQuery(bundleQuerySchema, url).with

/** The requested format of a report, and what the bundle in it is asked for with. */
export function readReportQuery(url: string): {
  readonly format: ReportFormat
  readonly with: BundleAddition | undefined
} {
  const { format = REPORT_FORMAT_DEFAULT, with: addition } = readQuery(reportQuerySchema, url)
  return { format, with: addition }
}
