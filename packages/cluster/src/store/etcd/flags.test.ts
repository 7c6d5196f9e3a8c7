// SPDX-License-Identifier: Apache-2.0
import { fileURLToPath } from "node:url"
import { describe, expect, it } from "vitest"
import { etcdOptions } from "./flags.js"

const FILE = fileURLToPath(import.meta.url)
const etcd = ["https://a:2379", "https://b:2379"]

describe("etcd flags", () => {
  it("select the embedded store if there are none", () => {
    expect(etcdOptions({}, {})).toBeUndefined()
  })

  it("set endpoints, files, prefix and user", () => {
    const values = { etcd, "etcd-ca": FILE, "etcd-cert": FILE, "etcd-key": FILE, "etcd-prefix": "/p", "etcd-user": "u" }
    expect(etcdOptions(values, { MERLON_ETCD_PASSWORD: "secret" })).toEqual({
      endpoints: etcd,
      tls: { ca: expect.any(Buffer), certificate: expect.any(Buffer), key: expect.any(Buffer) },
      prefix: "/p",
      user: { name: "u", password: "secret" },
    })
  })

  it.each([
    [{ "etcd-prefix": "/p" }, "`--etcd-prefix` needs an etcd"],
    [{ etcd, "etcd-cert": FILE }, "go together"],
    [{ etcd, "etcd-ca": "/no/such/file" }, "`--etcd-ca /no/such/file` cannot be read"],
    [{ etcd, "etcd-user": "u" }, "needs a password in MERLON_ETCD_PASSWORD"],
  ])("are rejected with advice: %o", (values, words) => {
    expect(() => etcdOptions(values, {})).toThrow(words)
  })
})
