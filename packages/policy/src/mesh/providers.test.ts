// SPDX-License-Identifier: Apache-2.0
import { expect, it } from "vitest"
import { compile, decide } from "../program.js"
import { parseIp } from "../request/ip.js"
import { spiffeId } from "../request/spiffe-id.js"
import { validate } from "../resources/validate.js"
import { meshConfig } from "./config.js"
import { meshNames } from "./names.js"
import { hostAndPort, readProviderSettings, readProviders } from "./providers.js"

const one = { name: "a", protocol: "grpc", address: "a.example:1" }
const read = (...providers: object[]) => readProviderSettings({ providers }, path => `text of ${path}`)

it("fails closed, sends few headers and lets a provider write none by default", () => {
  expect(read(one)).toEqual([
    {
      ...one,
      pathPrefix: "",
      timeoutMs: 1_000,
      failureMode: "closed",
      sendHeaders: ["authorization", "cookie"],
      headersToUpstream: [],
      headersToCaller: ["location", "set-cookie", "www-authenticate"],
    },
  ])
})

it("reads the certificate authority from its file", () => {
  expect(read({ ...one, tls: { ca: "ca.pem" } })[0]?.tls).toEqual({ ca: "text of ca.pem" })
})

it.each([
  ["a misspelt field", { ...one, failureMod: "open" }, "did you mean `failureMode`?"],
  ["a failure mode that is none", { ...one, failureMode: "maybe" }, "providers[0].failureMode"],
  ["an address without a port", { ...one, address: "a.example" }, "must be HOST:PORT"],
  ["a URL as address", { ...one, address: "http://a.example:1" }, "must be HOST:PORT"],
  ["port 0", { ...one, address: "a:0" }, "port from 1 to 65535"],
  ["no time limit", { ...one, timeoutMs: 0 }, "providers[0].timeoutMs"],
  ["a path with a query", { ...one, pathPrefix: "/a?b" }, "providers[0].pathPrefix"],
  ["a header that frames", { ...one, headersToUpstream: ["Content-Length"] }, "that a provider may write"],
  ["a header that holds tokens", { ...one, headersToUpstream: ["Authorization"] }, "that a provider may write"],
  ["a header that names the peer", { ...one, headersToUpstream: ["x-forwarded-client-cert"] }, "may write"],
  ["a header that frames the denial", { ...one, headersToCaller: ["transfer-encoding"] }, "about framing"],
  ["a name that ends a line", { ...one, headersToCaller: ["a\r\nb"] }, "name of a header"],
])("rejects %s", (_, provider, message) => {
  expect(() => read(provider)).toThrow(message)
})

it("rejects two providers with the same name", () => {
  expect(() => read(one, one)).toThrow("providers[1].name: must be the name of one provider")
})

it("accepts fields that a newer control plane adds or an older one omits", () => {
  expect(readProviders([{ ...one, later: 1 }], "")[0]).not.toHaveProperty("later")
  expect(readProviders(undefined, "")).toEqual([])
})

it("reads hosts and addresses", () => {
  expect([hostAndPort("[::1]:80"), hostAndPort("a.b:443")]).toEqual([
    { host: "::1", port: 80 },
    { host: "a.b", port: 443 },
  ])
})

it("rejects a policy whose provider the mesh does not declare", () => {
  const document = {
    apiVersion: "security.merlon.dev/v1alpha3",
    kind: "AuthorizationPolicy",
    metadata: { name: "ask", namespace: "foo" },
    spec: { action: "CUSTOM", provider: { name: "b" }, rules: [{}] },
  }
  const problems = (providers: readonly { readonly name: string }[]) =>
    validate(document, meshNames(), { providers }).errors.map(({ path, problem }) => `${path}: ${problem}`)
  expect(problems(read(one))).toEqual(["spec.provider.name: provider `b` is not declared in the mesh configuration"])
  expect(problems([{ name: "b" }])).toEqual([])
})

it("denies a TCP connection that a provider would be asked about", () => {
  const { document } = validate(
    {
      apiVersion: "security.merlon.dev/v1alpha3",
      kind: "AuthorizationPolicy",
      metadata: { name: "ask", namespace: "foo" },
      spec: { action: "CUSTOM", provider: { name: "b" }, rules: [{}] },
    },
    meshNames(),
  )
  const address = parseIp("10.0.0.1")
  if (document === undefined || address === undefined) throw new Error("not valid")
  const program = compile([document], { namespace: "foo", name: "x", labels: {} }, meshConfig())
  const connection = {
    peer: spiffeId("cluster.local", "foo", "a"),
    sourceIp: address,
    remoteIp: address,
    destinationIp: address,
    destinationPort: 1,
    sni: undefined,
    http: undefined,
    token: undefined,
  }
  const { verdict, stage } = decide(program, connection)
  expect([verdict, stage]).toEqual(["deny", "custom"])
})
