/**
 * A registry on this machine, for the tests: it serves the runtime dependencies of server, gateway and agents from node_modules, and the packages just
 * built. npm resolves them as on an empty machine, without any other network.
 */
import { spawn } from "node:child_process"
import { createReadStream, existsSync, readFileSync } from "node:fs"
import { createServer, type ServerResponse } from "node:http"
import { basename, dirname, join } from "node:path"
import { isInstalled, nameAt, ROOT, readLockfile, runtimePlaces } from "../../supply-chain/lockfile.ts"
import type { Packed } from "../pack.ts"

export type LocalRegistry = { readonly url: string; readonly stop: () => Promise<void> }

/** A package's description, and a function that sends its bytes. */
type Offered = {
  readonly manifest: { readonly name: string; readonly version: string }
  readonly send: (to: ServerResponse) => void
}

/** Serves until it is stopped. */
export async function openRegistry(packed: readonly Packed[]): Promise<LocalRegistry> {
  const offered = [...installedPackages(), ...packed.map(packedPackage)]
  const server = createServer((request, response) => {
    const path = decodeURIComponent(new URL(request.url ?? "", "http://local").pathname).slice(1)
    const tarball = /^-\/(\d{1,4})$/.exec(path)
    const one = tarball === null ? undefined : offered[Number(tarball[1])]
    if (one !== undefined) return one.send(response)
    const description = describe(path, offered, `http://${request.headers.host}`)
    response.writeHead(description === undefined ? 404 : 200, { "content-type": "application/json" })
    response.end(JSON.stringify(description ?? { error: "not found" }))
  })
  await new Promise<void>(listening => server.listen(0, "127.0.0.1", listening))
  const address = server.address()
  if (address === null || typeof address === "string") throw new Error("The registry has no port.")
  const stop = (): Promise<void> =>
    new Promise(stopped => {
      server.close(() => stopped())
      server.closeAllConnections()
    })
  return { url: `http://127.0.0.1:${address.port}/`, stop }
}

/** All versions of a package in npm's format; undefined for an unknown package. */
function describe(name: string, offered: readonly Offered[], origin: string): object | undefined {
  const versions = offered.flatMap(({ manifest }, i) =>
    manifest.name === name ? [[manifest.version, { ...manifest, dist: { tarball: `${origin}/-/${i}` } }] as const] : [],
  )
  const [latest] = versions[0] ?? []
  return latest === undefined ? undefined : { name, "dist-tags": { latest }, versions: Object.fromEntries(versions) }
}

/** They have the frameworks of the doors for JavaScript. */
const EXAMPLES = ["examples/ai-sdk-agent", "examples/langchain-agent", "examples/openai-agent"]

function installedPackages(): readonly Offered[] {
  const places = ["apps/server", "apps/mcp", ...EXAMPLES].flatMap(workspace => runtimePlaces(readLockfile(), workspace))
  return [...new Set(places)]
    .filter(place => isInstalled(place) && existsSync(join(ROOT, place)))
    .map(place => {
      const manifest = JSON.parse(readFileSync(join(ROOT, place, "package.json"), "utf8"))
      const folder = join(ROOT, place)
      const words = ["-C", dirname(folder), "--exclude=*/node_modules", "-cf", "-", basename(folder)]
      return {
        manifest: { ...manifest, name: nameAt(place) },
        send: response => void spawn("tar", words, { stdio: ["ignore", "pipe", "inherit"] }).stdout.pipe(response),
      }
    })
}

const packedPackage = ({ file, manifest }: Packed): Offered => ({
  manifest,
  send: response => void createReadStream(file).pipe(response),
})
