/** A real browser before the service, where Debian's Chromium is installed. */
import { existsSync } from "node:fs"
import type { AddressInfo } from "node:net"
import { serve } from "@hono/node-server"
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core"
import { afterAll, beforeAll } from "vitest"

export const CHROMIUM = "/usr/bin/chromium"
export const HAS_CHROMIUM = existsSync(CHROMIUM)

export type Visit = {
  readonly page: Page
  /** Addresses the page asked for, itself included. */
  readonly asked: readonly string[]
  /** Errors and warnings of the console, refused by policy or thrown. */
  readonly complaints: readonly string[]
}

export type Visitor = {
  /** Address of the service, without a final slash. */
  readonly address: () => string
  /** Opens a path of the service, or a whole address, in a fresh profile. */
  readonly visit: (path: string, options?: BrowserContextOptions) => Promise<Visit>
}

type RequestTarget = { readonly fetch: (request: Request) => Response | Promise<Response> }

/**
 * A browser and a socket for all tests of a suite.
 * @param target the application, created when the suite begins
 * @param port where it listens; absent: any
 */
export function standingVisitor(target: () => RequestTarget, port: () => number = () => 0): Visitor {
  let browser: Browser | undefined
  let server: ReturnType<typeof serve> | undefined
  let address = ""
  beforeAll(async () => {
    const { fetch } = target()
    const listening = serve({ fetch, port: port(), hostname: "127.0.0.1" })
    server = listening
    await new Promise(resolve => listening.once("listening", resolve))
    address = `http://127.0.0.1:${(listening.address() as AddressInfo).port}`
    browser = await chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox"] })
  })
  afterAll(async () => {
    await browser?.close()
    await new Promise(closed => (server === undefined ? closed(undefined) : server.close(closed)))
  })
  const visit: Visitor["visit"] = async (path, options) => {
    if (browser === undefined) throw new Error("the browser runs during tests only")
    const context = await browser.newContext(options)
    const page = await context.newPage()
    const asked: string[] = []
    const complaints: string[] = []
    page.on("request", request => asked.push(request.url()))
    page.on("pageerror", error => complaints.push(String(error)))
    page.on("console", message => {
      if (["error", "warning"].includes(message.type())) complaints.push(message.text())
    })
    await page.goto(path.includes("://") ? path : address + path)
    return { page, asked, complaints }
  }
  return { address: () => address, visit }
}
