/** A real nginx with the configuration of docs/scale.md, on a free loopback port, and requests through it by host name. */
import { spawn } from "node:child_process"
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { Agent, request as httpsRequest } from "node:https"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { end, freePort, guardFolder } from "../../../apps/server/cluster/own-servers.ts"
import type { RequestTarget } from "../../../apps/server/spec/harness/key-holders.ts"
import { hostCertificate } from "../../../apps/server/spec/harness/stream-receiver.ts"
import { until } from "../../../apps/server/spec/harness/until.ts"

const PAGE = fileURLToPath(new URL("../../../docs/scale.md", import.meta.url))
/** The host names of the page, and one that it has not. */
export const HOSTS = {
  shared: "runs.example.com",
  eu1: "eu1.runs.example.com",
  us1: "us1.runs.example.com",
  unknown: "unknown.example.com",
} as const

export type Nginx = {
  /** What asks a host name through nginx. */
  readonly at: (host: string) => RequestTarget
  /** What nginx logged of requests. */
  readonly accessLog: () => string
  readonly stop: () => Promise<void>
}

/** The one configuration of the page, with places of this machine for those of the page. @throws Error for a place that the page has not */
function configuration(places: Readonly<Record<string, string>>): string {
  const blocks = [...readFileSync(PAGE, "utf8").matchAll(/^```nginx\n([\s\S]*?)^```$/gm)]
  const [, text = ""] = blocks[0] ?? []
  if (blocks.length !== 1) throw new Error(`the page has ${blocks.length} configurations`)
  return Object.entries(places).reduce((made, [there, here]) => {
    if (!made.includes(there)) throw new Error(`the page has no ${there}`)
    return made.replaceAll(there, here)
  }, text)
}

/** What Debian's own file has around it, in a folder in place of the system's. */
const around = (folder: string): string => `daemon off;
worker_processes 1;
pid ${folder}/nginx.pid;
error_log ${folder}/error.log;
events {}
http {
  access_log ${folder}/access.log;
${["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(name => `  ${name}_temp_path ${folder}/${name};`).join("\n")}
  include ${folder}/shards.conf;
}
`

/** @param program path of nginx; @param ports of the two deployments */
export async function startNginx(
  program: string,
  ports: { readonly eu1: number; readonly us1: number },
): Promise<Nginx> {
  const folder = mkdtempSync(join(tmpdir(), "runseal-nginx-"))
  const release = guardFolder(folder)
  // The worker has an account of its own where root starts it.
  chmodSync(folder, 0o755)
  const [port, host] = [
    await freePort(),
    hostCertificate(
      Object.values(HOSTS)
        .map(name => `DNS:${name}`)
        .join(),
    ),
  ]
  const places = {
    "10.1.0.10:8080": `127.0.0.1:${ports.eu1}`,
    "10.2.0.10:8080": `127.0.0.1:${ports.us1}`,
    "listen       443 ": `listen       127.0.0.1:${port} `,
    "/etc/nginx/runs.example.com.crt": join(folder, "host.crt"),
    "/etc/nginx/runs.example.com.key": join(folder, "host.key"),
  }
  writeFileSync(join(folder, "shards.conf"), configuration(places))
  writeFileSync(join(folder, "nginx.conf"), around(folder))
  writeFileSync(join(folder, "host.crt"), host.cert)
  writeFileSync(join(folder, "host.key"), host.key, { mode: 0o600 })
  const child = spawn(program, ["-c", join(folder, "nginx.conf"), "-p", folder], { cwd: folder, stdio: "ignore" })
  const agent = new Agent({ keepAlive: true, ca: host.cert })
  const at: Nginx["at"] = name => ({ request: (path, init) => ask({ agent, port, name }, path, init) })
  const stop = async (): Promise<void> => {
    agent.destroy()
    await end(child, "SIGTERM")
    release()
    rmSync(folder, { recursive: true, force: true })
  }
  const logOf = (name: string): string => readFileSync(join(folder, name), "utf8")
  await until("nginx answers", async () => {
    if (child.exitCode !== null) throw new Error(`nginx ended: ${logOf("error.log")}`)
    return at(HOSTS.shared)
      .request("/")
      .then(
        () => true,
        () => false,
      )
  })
  return { at, accessLog: () => logOf("access.log"), stop }
}

type Way = { readonly agent: Agent; readonly port: number; readonly name: string }

/** One request over TLS; no name server is asked for the host. */
function ask({ agent, port, name }: Way, path: string, init: RequestInit = {}): Promise<Response> {
  const { method = "GET", body } = init
  const headers = { ...Object.fromEntries(new Headers(init.headers)), host: name }
  const options = { host: "127.0.0.1", port, servername: name, agent, method, path, headers }
  return new Promise((resolve, reject) => {
    const request = httpsRequest(options, response => {
      const chunks: Buffer[] = []
      response.on("data", (chunk: Buffer) => chunks.push(chunk))
      response.on("error", reject)
      response.on("end", () => {
        const { statusCode: status = 0, headers: fields } = response
        const pairs = Object.entries(fields).map(([field, value]) => [field, String(value)] as [string, string])
        resolve(new Response(Buffer.concat(chunks), { status, headers: pairs }))
      })
    })
    request.on("error", reject)
    request.end(typeof body === "string" ? body : undefined)
  })
}
