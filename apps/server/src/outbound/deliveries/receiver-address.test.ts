/** A name is looked up when it is connected to, and gives only addresses that were checked. */
import { request } from "node:http"
import { describe, expect, test } from "vitest"
import { deliveryNetworks, PUBLIC_ONLY } from "../../options/delivery-networks.ts"
import { AddressRefused, checkedLookup } from "./receiver-address.ts"

const errorOf = (lookup: ReturnType<typeof checkedLookup>): Promise<Error> =>
  new Promise(resolve => {
    request({ host: "localhost", port: 9, lookup }).on("error", resolve).end()
  })

describe("a name of this machine", () => {
  test("is refused where only public addresses are allowed", async () => {
    expect(await errorOf(checkedLookup(PUBLIC_ONLY.allows))).toBeInstanceOf(AddressRefused)
  })

  test("is connected to where the operator allows the network", async () => {
    const networks = deliveryNetworks(["127.0.0.0/8", "::1"])
    if (networks === undefined) throw new Error("the networks cannot be read")
    expect(await errorOf(checkedLookup(networks.allows))).not.toBeInstanceOf(AddressRefused)
  })
})

test.each(["10.0.0.0/33", "10.0.0/8", "x", "10.0.0.0/8/8", "fd00::/129", "10.0.0.0/"])("%s is no network", text => {
  expect(deliveryNetworks([text])).toBeUndefined()
})

test.each([
  ["93.184.216.34", true],
  ["2606:2800:220:1::1", true],
  ["100.64.0.1", false],
  ["192.168.1.1", false],
  ["0.0.0.0", false],
  ["fe80::1", false],
  ["::", false],
  ["::ffff:127.0.0.1", false],
  ["2002:7f00:1::", false],
])("%s is public: %s", (address, isPublic) => {
  expect(PUBLIC_ONLY.allows(address)).toBe(isPublic)
})
