// SPDX-License-Identifier: Apache-2.0
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { rootCertificates } from "node:tls"
import { afterAll, describe, expect, it } from "vitest"
import { readProviderFile } from "./provider-file.js"

const folder = mkdtempSync(join(tmpdir(), "merlon-providers-"))
afterAll(() => rmSync(folder, { recursive: true }))
const PEM = rootCertificates[0] ?? ""
writeFileSync(join(folder, "ca.pem"), PEM)

function read(value: unknown) {
  const file = join(folder, "providers.json")
  writeFileSync(file, JSON.stringify(value))
  return readProviderFile(file)
}
const provider = (ca: string) => ({ name: "opa", protocol: "grpc", address: "opa.example:9191", tls: { ca } })

describe("the providers file", () => {
  it("declares providers in a field or as a list", () => {
    expect(read({ providers: [provider("ca.pem")] })).toMatchObject([provider(PEM)])
    expect(read([provider("ca.pem")])).toMatchObject([provider(PEM)])
    expect(read([])).toEqual([])
  })

  it("has a CA as a file name or as PEM text", () => {
    expect(read([provider(PEM)])).toMatchObject([provider(PEM)])
    const broken = provider("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")
    for (const wrong of [broken, provider("other.pem")]) expect(() => read([wrong])).toThrow("as `--providers`")
  })

  it.each([["text"], [{ provider: [] }], [[{ name: "opa" }]]])("is rejected with %j", value => {
    expect(() => read(value)).toThrow("as `--providers`")
  })
})
