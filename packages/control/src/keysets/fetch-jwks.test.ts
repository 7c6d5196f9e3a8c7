// SPDX-License-Identifier: Apache-2.0
import { once } from "node:events"
import { type AddressInfo, createServer, type LookupFunction } from "node:net"
import { afterEach, beforeAll, describe, expect, it, test } from "vitest"
import { systemClock } from "../observe/clock.js"
import { ManualClock } from "../observe/testing/manual-clock.js"
import { type FetchOptions, fetchJwks, type KeySetSource } from "./fetch-jwks.js"
import { type Answer, type Issuer, json, jwks, privateAuthority, startIssuer, status } from "./testing/issuer.js"

const running: Issuer[] = []
afterEach(async () => {
  await Promise.all(running.splice(0).map(issuer => issuer.close()))
})

async function issuerThat(answer: Answer, tls?: { key: string; cert: string }): Promise<Issuer> {
  const issuer = await startIssuer(answer, tls)
  running.push(issuer)
  return issuer
}

const never = new AbortController().signal

function get(jwksUri: string, options: Partial<FetchOptions & KeySetSource> = {}) {
  const { timeoutMs = 60_000, ...rest } = options
  return fetchJwks({ issuer: undefined, jwksUri, timeoutMs }, never, {
    clock: systemClock,
    allowLoopback: true,
    ...rest,
  })
}

async function errorOf(result: ReturnType<typeof fetchJwks>): Promise<string> {
  const fetched = await result
  return fetched.ok ? "no error" : fetched.error
}

it("returns the keys and their lifetime", async () => {
  const text = jwks("a", "b")
  const issuer = await issuerThat(json(text, { "cache-control": "max-age=600" }))
  const fetched = await get(`${issuer.url}/keys?tenant=1`)
  expect(fetched).toMatchObject({ ok: true, jwks: text, lifetime: 600_000 })
  expect(fetched.ok && fetched.keySet.keys.map(key => key.kid)).toEqual(["a", "b"])
  expect(issuer.asked).toEqual(["/keys?tenant=1"])
})

describe("a misbehaving server is limited and reported", () => {
  const drip: Answer = (_, response) => {
    response.writeHead(200)
    const timer = setInterval(() => response.write(" "), 10)
    response.on("close", () => clearInterval(timer))
  }
  test.each<[string, Answer, string]>([
    ["never answers", () => undefined, "/jwks: timed out after 0.2 s"],
    ["drips its body", drip, "/jwks: timed out after 0.2 s"],
    ["answers 500", status(500), "/jwks answered 500"],
    ["answers 204", status(204), "/jwks answered 204"],
    ["answers 404", status(404), "/jwks answered 404"],
    [
      "redirects",
      status(302, { location: "http://169.254.169.254/latest?secret=1" }),
      "/jwks redirected to http://169.254.169.254/latest?…; redirects are not followed, write the final URL",
    ],
    ["answers garbage", json("<html>"), "/jwks is not a key set: the key set is not a JSON object"],
    ["answers an empty set", json('{"keys":[]}'), "/jwks is not a key set: the key set has no usable key; it is empty"],
    [
      "hangs up",
      request => request.socket.destroy(),
      "/jwks: the connection was closed before the response was complete",
    ],
    [
      "does not speak HTTP",
      request => request.socket.end("SSH-2.0-OpenSSH\r\n"),
      "/jwks: the response is not valid HTTP",
    ],
    [
      "compresses",
      json("x", { "content-encoding": "gzip" }),
      "/jwks answered with content-encoding `gzip`, which was not requested",
    ],
    [
      "announces too large a body",
      (_, response) => response.writeHead(200, { "content-length": "10000000" }).write("{"),
      "/jwks answered with more than 256 KiB; a key set is smaller",
    ],
  ])("%s", async (_, answer, expected) => {
    const issuer = await issuerThat(answer)
    const timeoutMs = expected.includes("0.2 s") ? 200 : 60_000
    expect(await errorOf(get(`${issuer.url}/jwks`, { timeoutMs }))).toBe(`${issuer.url}${expected}`)
  })

  test.each([
    [301, "http://127.0.0.1/keys"],
    [303, "http://[::1]/keys"],
    [307, "file:///etc/passwd"],
    [308, "//169.254.169.254/latest"],
    [307, "/moved"],
  ])("redirects with %i to %s, which is not followed", async (code, location) => {
    const issuer = await issuerThat(status(code, { location }))
    expect(await errorOf(get(`${issuer.url}/jwks`))).toContain("redirects are not followed")
    expect(issuer.asked).toEqual(["/jwks"])
  })

  it("sends ten megabytes: most of them are never read", async () => {
    let sent = 0
    let closed: () => void
    const gone = new Promise<void>(resolve => {
      closed = resolve
    })
    const issuer = await issuerThat((_, response) => {
      const chunk = Buffer.alloc(64 * 1024, "x")
      const more = (): void => {
        while (sent < 1e9) {
          sent += chunk.length
          if (!response.write(chunk)) return
        }
      }
      response.on("drain", more).on("close", () => closed())
      more()
    })
    expect(await errorOf(get(issuer.url))).toContain("more than 256 KiB")
    await gone
    expect(sent).toBeLessThan(100e6)
  })

  it("is not reachable", async () => {
    const issuer = await startIssuer(() => undefined)
    await issuer.close()
    expect(await errorOf(get(issuer.url))).toBe(`${issuer.url}/: the connection was refused`)
  })
})

it("stops at once when the keys are no longer needed", async () => {
  const controller = new AbortController()
  const issuer = await issuerThat(() => controller.abort(new Error("no longer needed")))
  const source = { issuer: undefined, jwksUri: issuer.url, timeoutMs: 60_000 }
  expect(await errorOf(fetchJwks(source, controller.signal, { clock: systemClock, allowLoopback: true }))).toContain(
    "no longer needed",
  )
})

it("closes a connection whose handshake never ends", async () => {
  const closed: Promise<unknown>[] = []
  // The deadline passes once the connection is established, however long that takes.
  const clock = new ManualClock()
  const silent = createServer(socket => {
    socket.on("error", () => undefined).resume()
    closed.push(once(socket, "close"))
    void clock.advance(100)
  })
  silent.listen(0, "127.0.0.1")
  await once(silent, "listening")
  const { port } = silent.address() as AddressInfo // a TCP server's address
  expect(await errorOf(get(`https://127.0.0.1:${port}/`, { timeoutMs: 100, clock }))).toContain("timed out after 0.1 s")
  expect(closed).toHaveLength(1)
  await Promise.all(closed)
  silent.close()
})

describe("URLs that are not fetched", () => {
  test.each([
    ["not a url", "`not a url` is not a URL; write an absolute http or https URL"],
    ["file:///etc/passwd", "`file:///etc/passwd` has the scheme `file`; only http and https are fetched"],
    [
      "http://user:secret@idp.test/keys",
      "`http://idp.test/keys` carries credentials; key sets are public, remove them from the URL",
    ],
    [
      "http://169.254.169.254/latest",
      "http://169.254.169.254/latest: `169.254.169.254` is the metadata service of a cloud; Merlon never fetches keys from such an address",
    ],
    [
      "http://2852039166/latest",
      "http://169.254.169.254/latest: `169.254.169.254` is the metadata service of a cloud; Merlon never fetches keys from such an address",
    ],
    [
      "http://[::ffff:169.254.169.254]/",
      "http://[::ffff:a9fe:a9fe]/: `::ffff:a9fe:a9fe` is the metadata service of a cloud; Merlon never fetches keys from such an address",
    ],
    [
      "https://[fe80::1]/",
      "https://[fe80::1]/: `fe80::1` is a link-local address; Merlon never fetches keys from such an address",
    ],
    [
      "http://0/",
      "http://0.0.0.0/: `0.0.0.0` is an unspecified address; Merlon never fetches keys from such an address",
    ],
  ])("%s", async (url, expected) => {
    expect(await errorOf(get(url))).toBe(expected)
  })

  it("loopback addresses, unless the mesh allows them", async () => {
    const issuer = await issuerThat(json(jwks("a")))
    expect(await errorOf(get(issuer.url, { allowLoopback: false }))).toContain("a loopback address")
    expect(issuer.asked).toEqual([])
  })
})

describe("names", () => {
  const resolvingTo = (...answers: string[][]): { lookup: LookupFunction; asked: () => number } => {
    let asked = 0
    const lookup: LookupFunction = (_, __, callback) => {
      const addresses = answers[Math.min(asked++, answers.length - 1)] ?? []
      callback(
        null,
        addresses.map(address => ({ address, family: address.includes(":") ? 6 : 4 })),
      )
    }
    return { lookup, asked: () => asked }
  }

  test.each([
    [
      ["169.254.169.254"],
      "`idp.test` is 169.254.169.254, the metadata service of a cloud; Merlon never fetches keys from such an address",
    ],
    [["fe80::1"], "`idp.test` is fe80::1, a link-local address; Merlon never fetches keys from such an address"],
    [
      ["::ffff:169.254.1.1", "0.0.0.0"],
      "`idp.test` is ::ffff:169.254.1.1, a link-local address; Merlon never fetches keys from such an address",
    ],
  ])("that point to %j are not followed", async (addresses, expected) => {
    const { lookup } = resolvingTo(addresses)
    expect(await errorOf(get("http://idp.test/keys", { lookup }))).toBe(`http://idp.test/keys: ${expected}`)
  })

  it("that also resolve to a forbidden address are fetched from the others", async () => {
    const issuer = await issuerThat(json(jwks("a")))
    const { lookup } = resolvingTo(["169.254.169.254", "127.0.0.1"])
    expect(await get(`http://idp.test:${issuer.port}/`, { lookup })).toMatchObject({ ok: true })
  })

  it("that change their answer are fetched from the checked address", async () => {
    const issuer = await issuerThat(json(jwks("a")))
    const { lookup, asked } = resolvingTo(["127.0.0.1"], ["169.254.169.254"])
    expect(await get(`http://idp.test:${issuer.port}/`, { lookup })).toMatchObject({ ok: true })
    expect(asked()).toBe(1)
    expect(await errorOf(get(`http://idp.test:${issuer.port}/`, { lookup }))).toContain("the metadata service")
  })

  it("that never resolve time out", async () => {
    const lookup: LookupFunction = () => undefined
    expect(await errorOf(get("http://idp.test/", { lookup, timeoutMs: 50 }))).toBe(
      "http://idp.test/: timed out after 0.05 s",
    )
  })

  it("that do not exist are reported", async () => {
    const lookup: LookupFunction = (_, __, callback) =>
      callback(Object.assign(new Error("getaddrinfo ENOTFOUND"), { code: "ENOTFOUND" }), [])
    expect(await errorOf(get("http://idp.test/", { lookup }))).toBe("http://idp.test/: the host name is unknown")
  })
})

describe("https", { tags: ["needs/openssl"] }, () => {
  let ca: string
  let key: string
  let cert: string
  beforeAll(() => {
    ;({ ca, key, cert } = privateAuthority())
  })

  it("trusts an authority of the bundle", async () => {
    const issuer = await issuerThat(json(jwks("a")), { key, cert })
    expect(await get(issuer.url, { caBundle: ca })).toMatchObject({ ok: true })
  })

  it("rejects other authorities with advice", async () => {
    const issuer = await issuerThat(json(jwks("a")), { key, cert })
    expect(await errorOf(get(issuer.url))).toBe(
      `${issuer.url}/: the server's CA is not trusted; add it to the CA bundle for key sets`,
    )
    expect(issuer.asked).toEqual([])
  })

  it("trusts only the rule's own authorities if it has any", async () => {
    const issuer = await issuerThat(json(jwks("a")), { key, cert })
    const other = privateAuthority().ca
    const fetched = (own: string, bundle: string) =>
      fetchJwks({ issuer: undefined, jwksUri: issuer.url, timeoutMs: 60_000, caBundle: own }, never, {
        clock: systemClock,
        allowLoopback: true,
        caBundle: bundle,
      })
    expect(await fetched(ca, other)).toMatchObject({ ok: true })
    expect(issuer.asked).toHaveLength(1)
    expect(await errorOf(fetched(other, ca))).toContain("the server's CA is not trusted")
    expect(issuer.asked).toHaveLength(1)
  })

  it("fetches nothing without TLS if the rule has authorities of its own", async () => {
    const plain = await issuerThat(json(jwks("a")))
    const issuer = await issuerThat(() => undefined, { key, cert })
    issuer.answer = json(JSON.stringify({ issuer: issuer.url, jwks_uri: `${plain.url}/keys` }))
    const source = { issuer: issuer.url, jwksUri: undefined, timeoutMs: 60_000, caBundle: ca }
    expect(await errorOf(fetchJwks(source, never, { clock: systemClock, allowLoopback: true }))).toContain(
      "the keys are not at an https URL",
    )
    expect(plain.asked).toEqual([])
  })

  it("checks the host name", async () => {
    const issuer = await issuerThat(json(jwks("a")), { key, cert })
    const lookup: LookupFunction = (_, __, callback) => callback(null, [{ address: "127.0.0.1", family: 4 }])
    const at = (name: string) => get(`https://${name}:${issuer.port}/`, { caBundle: ca, lookup })
    expect(await at("issuer.test")).toMatchObject({ ok: true })
    expect(await errorOf(at("other.test"))).toContain("the server's certificate is for another name")
  })
})

describe("discovery", () => {
  async function discovering(document: (url: string) => unknown, suffix = "") {
    const issuer = await issuerThat(() => undefined)
    issuer.answer = (request, response) => {
      const path = request.url ?? ""
      if (path.endsWith("/.well-known/openid-configuration"))
        json(JSON.stringify(document(issuer.url)))(request, response)
      else if (path === "/keys") json(jwks("a"))(request, response)
      else status(404)(request, response)
    }
    const source = { issuer: `${issuer.url}${suffix}`, jwksUri: undefined, timeoutMs: 60_000 }
    return { issuer, result: fetchJwks(source, never, { clock: systemClock, allowLoopback: true }) }
  }

  test.each(["", "/", "/realms/shop", "/realms/shop/"])(
    "finds the keys of an issuer that ends in `%s`",
    async suffix => {
      const { issuer, result } = await discovering(
        url => ({ issuer: `${url}${suffix}`, jwks_uri: `${url}/keys` }),
        suffix,
      )
      expect(await result).toMatchObject({ ok: true })
      expect(issuer.asked).toEqual([`${suffix.replace(/\/$/, "")}/.well-known/openid-configuration`, "/keys"])
    },
  )

  test.each<[string, (url: string) => unknown, string]>([
    [
      "another issuer",
      url => ({ issuer: "https://evil.test", jwks_uri: `${url}/keys` }),
      "names the issuer `https://evil.test`, not",
    ],
    ["no issuer", url => ({ jwks_uri: `${url}/keys` }), "names the issuer none, not"],
    ["no jwks_uri", url => ({ issuer: url }), "has no `jwks_uri`"],
    ["a jwks_uri that is not a string", url => ({ issuer: url, jwks_uri: 5 }), "has no `jwks_uri`"],
    ["a file", url => ({ issuer: url, jwks_uri: "file:///etc/passwd" }), "has a `jwks_uri` that is not usable"],
    [
      "a metadata address",
      url => ({ issuer: url, jwks_uri: "http://169.254.169.254/" }),
      "the metadata service of a cloud",
    ],
    ["a list", () => [], "is not a discovery document: not a JSON object"],
  ])("rejects a document with %s", async (_, document, expected) => {
    expect(await errorOf((await discovering(document)).result)).toContain(expected)
  })

  test.each(["shop", "urn:shop"])("gives advice if the issuer `%s` is not an http URL", async issuer => {
    const source = { issuer, jwksUri: undefined, timeoutMs: 1_000 }
    expect(await errorOf(fetchJwks(source, never, { clock: systemClock, allowLoopback: true }))).toContain(
      "or set `jwksUri` or `jwks`",
    )
  })

  it("checks the address again for the keys, even on the issuer's host", async () => {
    const issuer = await issuerThat(() => undefined)
    const url = `http://idp.test:${issuer.port}`
    issuer.answer = json(JSON.stringify({ issuer: url, jwks_uri: `${url}/keys` }))
    let asked = 0
    const lookup: LookupFunction = (_, __, callback) =>
      callback(null, [{ address: asked++ === 0 ? "127.0.0.1" : "169.254.169.254", family: 4 }])
    const source = { issuer: url, jwksUri: undefined, timeoutMs: 60_000 }
    const result = fetchJwks(source, never, { clock: systemClock, allowLoopback: true, lookup })
    expect(await errorOf(result)).toContain("the metadata service of a cloud")
    expect(issuer.asked).toEqual(["/.well-known/openid-configuration"])
  })

  it("has one deadline for both requests", async () => {
    const issuer = await issuerThat(() => undefined)
    const source = { issuer: issuer.url, jwksUri: undefined, timeoutMs: 100 }
    expect(await errorOf(fetchJwks(source, never, { clock: systemClock, allowLoopback: true }))).toBe(
      `${issuer.url}/.well-known/openid-configuration: timed out after 0.1 s (while discovering the issuer's \`jwks_uri\`)`,
    )
  })
})
