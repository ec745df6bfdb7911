/** The text that explains an export, on the terminal and in its README. */
import { titleOf } from "@runseal/core/presentation/account"
import type { Report } from "@runseal/core/verify/report"
import { type ExportedAnchor, type SigstoreExport, TRUSTED_ROOT_NAME } from "@runseal/core/verify/sigstore-export"
import { type Line, printLines } from "./print.ts"
import { VERSION } from "./version.ts"

export const README_NAME = "README.txt"

/** The command by which a stranger verifies one anchor, from within the folder. */
const cosignCommand = ({ key, bundle, leaf, stamped }: ExportedAnchor): string =>
  `cosign verify-blob --key ${key} --bundle ${bundle} --trusted-root ${TRUSTED_ROOT_NAME}${stamped === undefined ? "" : " --use-signed-timestamps"} ${leaf}`

/** How to verify the export with cosign. */
export const checkLines = ({ anchors }: SigstoreExport): readonly Line[] => [
  ["In that folder, with cosign 3 (cosign 2 also needs --new-bundle-format):"],
  ...anchors.map((anchor): Line => [`  ${cosignCommand(anchor)}`]),
]

/** The README in ASCII: names from outside are escaped as on a terminal. */
export function readmeText(report: Report, exported: SigstoreExport): string {
  const keys = [...new Set(exported.anchors.map(({ key }) => key))]
  const outside = exported.anchors.some(({ outside_log }) => outside_log !== undefined)
  const lines: readonly Line[] = [
    [titleOf(report)],
    [`Verified by verifier ${VERSION} before it was exported: ${report.verdict}`],
    [],
    ...exported.anchors.flatMap(({ slot, log_index, leaf, bundle, outside_log, stamped }): readonly Line[] =>
      outside_log === undefined
        ? [
            [`${leaf}: the exact bytes that the service's key signed and log entry ${log_index} commits to (${slot})`],
            [`${bundle}: that signature and log entry, as a Sigstore bundle v0.3`],
          ]
        : [
            [
              `${bundle}: that signature and entry ${log_index} of ${outside_log}${stamped === undefined ? "" : ", with its timestamp"} (${slot})`,
            ],
          ],
    ),
    ...keys.map((key): Line => [`${key}: the service's public key`]),
    [
      `${TRUSTED_ROOT_NAME}: ${outside ? "the public keys of the logs, and the certificates of the timestamp authorities" : "the log's public key"}`,
    ],
    [],
    ...checkLines(exported),
    [],
    [
      "Both keys were taken from the exporting user's trust document, not from the record. If you did not export this folder",
    ],
    ["yourself, compare them with the keys that the service publishes."],
    [],
    [
      "These tools check the signature and the position in the log. They do not check that the leaf is the record's, nor that",
    ],
    ["it was logged within 600 s of the record's clock: only the verifier, given the record itself, does."],
  ]
  return printLines(lines, { ascii: true, colour: false })
}
