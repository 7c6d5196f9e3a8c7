// SPDX-License-Identifier: Apache-2.0
// @module-tag needs/openssl
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { delimiter, join } from "node:path"
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest"
import { connectionFrom } from "./connection-from.js"
import { ExecCredential } from "./exec-credential.js"
import { httpClient } from "./http-client.js"
import { PODS } from "./resource-type.js"
import { selfSigned, signedBy, type TestCredentials } from "./testing/credentials.js"
import { reply, ScriptedApi } from "./testing/scripted-api.js"
import { VirtualTime } from "./testing/virtual-time.js"

let folder: string
let written = 0

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "kubeconfig-"))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

function file(content: unknown, name = `config-${written++}`): string {
  const path = join(folder, name)
  writeFileSync(path, typeof content === "string" ? content : JSON.stringify(content))
  return path
}

const config = (cluster: object, user: object = {}, name = "one") => ({
  clusters: [{ name, cluster: { server: "https://api.example:6443", ...cluster } }],
  users: [{ name, user }],
  contexts: [{ name, context: { cluster: name, user: name, namespace: "foo" } }],
  "current-context": name,
})
const base64 = (text: string): string => Buffer.from(text).toString("base64")

describe("choosing a connection", () => {
  const none = { KUBERNETES_SERVICE_HOST: "", HOME: "/nonexistent" }

  it("reports in one sentence that there is none", () => {
    expect(() => connectionFrom({ env: none })).toThrow(
      "no cluster found: there is no local mesh here, no KUBECONFIG and no ~/.kube/config; start a local mesh with `merlonctl up`, or pass `--kubeconfig FILE`",
    )
  })

  it.each<[string, () => Parameters<typeof connectionFrom>[0], RegExp]>([
    [
      "a named file that does not exist",
      () => ({ kubeconfig: "/no/such", env: none }),
      /the kubeconfig `\/no\/such` does not exist/,
    ],
    [
      "files of KUBECONFIG that do not exist",
      () => ({ env: { ...none, KUBECONFIG: "/no/a" } }),
      /no file of KUBECONFIG=`\/no\/a` exists/,
    ],
    [
      "an unknown context",
      () => ({ kubeconfig: file(config({})), context: "two", env: none }),
      /has no context `two`; there are `one`/,
    ],
    [
      "a missing current context",
      () => ({ kubeconfig: file({ ...config({}), "current-context": "" }), env: none }),
      /no current context.*`--context`.*`one`/,
    ],
    ["a file that is not YAML", () => ({ kubeconfig: file("a: ["), env: none }), /is not valid YAML/],
    [
      "a server that is not a URL",
      () => ({ kubeconfig: file(config({ server: "api:6443" })), env: none }),
      /http or https URL: `api:6443`/,
    ],
    [
      "a password",
      () => ({ kubeconfig: file(config({}, { username: "a", password: "b" })), env: none }),
      /no longer has/,
    ],
    [
      "an unsupported exec version",
      () => ({
        kubeconfig: file(config({}, { exec: { apiVersion: "client.authentication.k8s.io/v1alpha1", command: "x" } })),
        env: none,
      }),
      /`x` uses `client.authentication.k8s.io\/v1alpha1`/,
    ],
  ])("rejects %s", (_, choice, message) => {
    expect(() => connectionFrom(choice())).toThrow(message)
  })

  it("prefers the named file, then the Pod's own cluster, then the user's file", async () => {
    const home = join(folder, "home")
    mkdirSync(join(home, ".kube"), { recursive: true })
    file(config({ server: "https://home" }), "home/.kube/config")
    const pod = join(folder, "pod")
    mkdirSync(pod)
    file("secret\n", "pod/token")
    file("PEM", "pod/ca.crt")
    file("bar", "pod/namespace")
    const env = { HOME: home, KUBERNETES_SERVICE_HOST: "fd00::1", KUBERNETES_SERVICE_PORT: "443" }
    const own = connectionFrom({ env, serviceAccountFolder: pod })
    expect(own).toMatchObject({ server: "https://[fd00::1]:443", namespace: "bar" })
    expect(await own.credentials()).toEqual({ token: "secret", ca: "PEM" })
    expect(connectionFrom({ env, serviceAccountFolder: "/none" }).server).toBe("https://home")
    expect(connectionFrom({ env, kubeconfig: file(config({})), serviceAccountFolder: pod }).server).toBe(
      "https://api.example:6443",
    )
    expect(connectionFrom({ env: { ...env, KUBECONFIG: file(config({})) }, serviceAccountFolder: pod }).server).toBe(
      "https://api.example:6443",
    )
  })

  it("merges several files: the first definition of a name wins", () => {
    const first = file({ ...config({ server: "https://first" }, {}, "a"), "current-context": undefined })
    const second = file({ ...config({ server: "https://second" }, {}, "a"), "current-context": "b" })
    const third = file(config({ server: "https://third" }, {}, "b"))
    const env = { KUBECONFIG: [first, "", "/no/such", second, third].join(delimiter) }
    expect(connectionFrom({ env }).server).toBe("https://third")
    expect(connectionFrom({ env, context: "a" })).toMatchObject({ server: "https://first", namespace: "foo" })
  })

  it("warns about a server that is not verified", () => {
    const warnings: string[] = []
    const choice = { kubeconfig: file(config({ "insecure-skip-tls-verify": true })), env: {} }
    expect(connectionFrom({ ...choice, warn: warning => warnings.push(warning) }).insecure).toBe(true)
    expect(warnings).toEqual([expect.stringContaining("turns off verification of the server's certificate")])
  })
})

describe("credentials", () => {
  it("come from inline data or files, and from a token file before a token", async () => {
    file("file token\n", "token-file")
    file("file key", "key-file")
    const user = {
      "client-certificate-data": base64("inline certificate"),
      "client-key": "key-file",
      token: "inline",
      tokenFile: "token-file",
    }
    const found = connectionFrom({
      kubeconfig: file(config({ "certificate-authority-data": base64("ca") }, user)),
      env: {},
    })
    expect(await found.credentials()).toEqual({
      ca: "ca",
      certificate: "inline certificate",
      key: "file key",
      token: "file token",
    })
  })

  it("are read again after a minute or a rejection, and kept if the file is gone", async () => {
    const token = file("one")
    const time = new VirtualTime()
    const found = connectionFrom({ kubeconfig: file(config({}, { tokenFile: token })), env: {}, time })
    expect(await found.credentials()).toEqual({ token: "one" })
    writeFileSync(token, "two")
    expect(await found.credentials()).toEqual({ token: "one" })
    await time.advance(60_000)
    expect(await found.credentials()).toEqual({ token: "two" })
    writeFileSync(token, "three")
    found.rejected()
    expect(await found.credentials()).toEqual({ token: "three" })
    rmSync(token)
    found.rejected()
    expect(await found.credentials()).toEqual({ token: "three" })
  })
})

describe("a credential program", () => {
  let runs: string
  beforeEach(() => {
    runs = join(folder, `runs-${written++}`)
  })

  function withProgram(script: string, exec: object = {}) {
    const program = file(`#!/bin/sh\necho run >> ${runs}\n${script}\n`, `program-${written++}`)
    chmodSync(program, 0o755)
    const time = new VirtualTime(Date.UTC(2026, 0))
    const spec = {
      apiVersion: "client.authentication.k8s.io/v1",
      command: `./${program.slice(folder.length + 1)}`,
      ...exec,
    }
    return { time, found: connectionFrom({ kubeconfig: file(config({}, { exec: spec })), env: {}, time }) }
  }
  const credential = (status: object) =>
    `cat <<'END'\n${JSON.stringify({ apiVersion: "client.authentication.k8s.io/v1", kind: "ExecCredential", status })}\nEND`
  const count = () => readFileSync(runs, "utf8").trim().split("\n").length

  it("runs once for all callers, until its result expires or is rejected", async () => {
    const { found, time } = withProgram(credential({ token: "t", expirationTimestamp: "2026-01-01T01:00:00Z" }))
    expect(await Promise.all([found.credentials(), found.credentials()])).toEqual([{ token: "t" }, { token: "t" }])
    await time.advance(3_580_000)
    await found.credentials()
    expect(count()).toBe(1)
    await time.advance(15_000)
    await found.credentials()
    expect(count()).toBe(2)
  })

  it("is run again after a rejection", async () => {
    const { found } = withProgram(credential({ token: "t" }))
    await found.credentials()
    await found.credentials()
    expect(count()).toBe(1)
    found.rejected()
    await found.credentials()
    expect(count()).toBe(2)
  })

  it("gets its arguments, its variables and the cluster", async () => {
    const { found } = withProgram(
      `printf '{"apiVersion":"client.authentication.k8s.io/v1","status":{"token":"%s %s"}}' "$1" "$WHO"; echo "$KUBERNETES_EXEC_INFO" | grep -q '"server":"https://api.example:6443"'`,
      { args: ["get"], env: [{ name: "WHO", value: "me" }], provideClusterInfo: true },
    )
    expect(await found.credentials()).toEqual({ token: "get me" })
  })

  it("may return a certificate", async () => {
    const { found } = withProgram(credential({ clientCertificateData: "c", clientKeyData: "k" }))
    expect(await found.credentials()).toEqual({ certificate: "c", key: "k" })
  })

  it.each([
    ["fails", "echo no luck >&2; exit 3", /failed with 3: no luck/],
    ["does not answer with JSON", "echo hello", /did not print JSON/],
    ["returns nothing", credential({}), /neither a token nor a certificate/],
    ["answers in another version", 'echo \'{"apiVersion":"v0"}\'', /answered with `v0`/],
    ["never stops writing", "yes", /wrote more than/],
  ])("that %s is reported with its error", async (_, script, message) => {
    await expect(withProgram(script).found.credentials()).rejects.toThrow(message)
  })

  it("that hangs is killed", async () => {
    const spec = { apiVersion: "client.authentication.k8s.io/v1", command: "sleep", args: ["60"], env: {} }
    const hanging = new ExecCredential(spec, new VirtualTime(), 50)
    await expect(hanging.credentials()).rejects.toThrow("`sleep` did not answer within 0.05 s")
  })

  it("that does not exist is reported with the hint", async () => {
    const { found } = withProgram("", { command: "no-such-program-here", installHint: "install it" })
    await expect(found.credentials()).rejects.toThrow(/could not be started: .*; install it/)
  })
})

describe("TLS", () => {
  let server: TestCredentials
  let client: TestCredentials
  beforeAll(() => {
    const root = selfSigned(folder, "root")
    server = signedBy(folder, root, "server", "api.internal")
    client = signedBy(folder, root, "client", "client")
    rootFile = root.certificateFile
  })
  let rootFile: string

  async function ask(cluster: object, user: object = {}): Promise<unknown> {
    const tls = {
      cert: server.certificate,
      key: server.key,
      ca: readFileSync(rootFile),
      requestCert: true,
      rejectUnauthorized: false,
    }
    const api = await ScriptedApi.start(({ message }, response) => {
      const { authorized = false } = message.socket as { authorized?: boolean } // a TLS socket
      reply(response, 200, { metadata: { name: String(authorized) } })
    }, tls)
    const connection = connectionFrom({ kubeconfig: file(config({ server: api.url, ...cluster }, user)), env: {} })
    const http = httpClient(connection, { userAgent: "test", fieldManager: "test", random: () => 0 })
    try {
      return (await http.get(PODS, "a", "foo"))?.metadata.name
    } finally {
      await http.close()
      await api.close()
    }
  }

  it("verifies the server's authority and name, and presents a certificate", async () => {
    const right = { "certificate-authority": rootFile, "tls-server-name": "api.internal" }
    expect(await ask(right)).toBe("false")
    expect(await ask(right, { "client-certificate": client.certificateFile, "client-key": client.keyFile })).toBe(
      "true",
    )
    expect(await ask({ "insecure-skip-tls-verify": true })).toBe("false")
  })

  it("rejects another authority and another name", async () => {
    await expect(ask({ "tls-server-name": "api.internal" })).rejects.toThrow(/check `certificate-authority`/)
    await expect(ask({ "certificate-authority": rootFile, "tls-server-name": "other" })).rejects.toThrow(
      /altnames|ALTNAME/,
    )
  })
})
