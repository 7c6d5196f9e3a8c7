// SPDX-License-Identifier: Apache-2.0
// merlonctl behaves like kubectl, with the same output, and the two can be used alternately.

import { mkdirSync, writeFileSync } from "node:fs"
import { copyFile } from "node:fs/promises"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type Programs, type Ran, startPrograms } from "./support/programs.js"

const peer = (mode: string, more = ""): string =>
  `apiVersion: security.merlon.dev/v1alpha3\nkind: PeerAuthentication\nmetadata: {name: default}\nspec: {mtls: {mode: ${mode}}${more}}\n`
const SELECTED = `, selector: {matchLabels: {app: web}}`
const NOW = { lastTransitionTime: "2026-01-01T00:00:00Z", observedGeneration: 1 }
const configMap = (value: string): string =>
  `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {a: "${value}"}\n`

describe("merlonctl (needs kubectl)", { tags: ["needs/kubectl"] }, () => {
  let programs: Programs
  beforeAll(async () => {
    programs = await startPrograms()
  })
  afterAll(() => programs?.close())

  const ctl = (args: string, input?: string): Promise<Ran> =>
    programs.merlonctl(words(args), input === undefined ? {} : { input })
  const kubectl = (args: string, input?: string): Promise<Ran> =>
    programs.kubectl(words(args), input === undefined ? {} : { input })

  /** Runs the same command in a namespace of each, with the same outcome. */
  async function alike(args: string, input?: string): Promise<Ran> {
    const [ours, theirs] = await Promise.all([ctl(`${args} -n one`, input), kubectl(`${args} -n two`, input)])
    expect({ code: ours.code, out: ageless(ours.out) }).toEqual({ code: theirs.code, out: ageless(theirs.out) })
    return ours
  }

  it("applies, patches and deletes with kubectl's output", async () => {
    expect((await alike("apply -f -", peer("STRICT"))).out).toBe(
      "peerauthentication.security.merlon.dev/default created\n",
    )
    expect((await alike("apply -f -", peer("STRICT"))).out).toContain("unchanged")
    expect((await alike("apply -f -", peer("PERMISSIVE"))).out).toContain("configured")
    const patch = `patch pa default --type merge -p {"spec":{"mtls":{"mode":"STRICT"}}}`
    expect((await alike(patch)).out).toBe("peerauthentication.security.merlon.dev/default patched\n")
    expect((await alike(patch)).out).toContain("(no change)")
    await alike(`patch pa/default --type json -p [{"op":"remove","path":"/spec/mtls"}]`)
    await alike("get pa")
    await alike("get pa -o name")
    expect((await alike("delete pa default")).out).toBe('peerauthentication.security.merlon.dev "default" deleted\n')
    expect((await alike("delete pa default")).code).toBe(1)
    expect(await alike("delete pa default --ignore-not-found")).toMatchObject({ code: 0, out: "" })
    expect((await alike("get pa default")).code).toBe(1)
    expect(await alike("get pa")).toMatchObject({ code: 0, out: "" })
  })

  it("prints the same as kubectl, byte for byte", async () => {
    await ctl("apply -n one -f -", `${peer("STRICT", SELECTED)}---\n${configMap("<b> & 'yes'")}`)
    for (const args of [
      "get pa -n one -o yaml",
      "get pa default -n one -o json",
      "get pa default -n one -o yaml --show-managed-fields",
      "get cm c -n one -o yaml",
      "get pa -A -o name",
      "get ns --show-labels",
      "get ns one -o wide --no-headers",
      "get merlon -n one",
    ]) {
      const [ours, theirs] = await Promise.all([ctl(args), kubectl(args)])
      expect({ ...ours, out: ageless(ours.out) }, args).toEqual({ ...theirs, out: ageless(theirs.out) })
    }
  })

  it("alternates with kubectl: fields that either removed from the file are removed", async () => {
    await kubectl("apply -n two -f -", peer("STRICT", SELECTED))
    expect((await ctl("apply -n two -f -", peer("STRICT", SELECTED))).out).toContain("unchanged")
    await kubectl("apply -n two -f -", peer("DISABLE", SELECTED))
    expect((await ctl("apply -n two -f -", peer("STRICT"))).out).toContain("configured")
    expect((await kubectl("get pa default -n two -o jsonpath={.spec}")).out).toBe(
      '{"enforcement":"Enforce","mtls":{"mode":"STRICT"}}',
    )
    const again = await kubectl("apply -n two -f -", peer("STRICT"))
    expect(again).toMatchObject({ out: expect.stringContaining("unchanged"), err: "" })
    await ctl("apply -n two -f -", peer("STRICT", SELECTED))
    expect((await kubectl("apply -n two -f -", peer("STRICT"))).out).toContain("configured")
    expect((await kubectl("get pa default -n two -o jsonpath={.spec.selector}")).out).toBe("")
  })

  it("overrides what a user set by hand, but not another tool", async () => {
    await ctl("apply -n one -f -", configMap("file"))
    await kubectl(`patch cm c -n one --type merge -p {"data":{"a":"hand"}}`)
    expect((await ctl("apply -n one -f -", configMap("file"))).out).toBe("configmap/c configured\n")
    await kubectl("apply -n one --server-side --field-manager=argo --force-conflicts -f -", configMap("argo"))
    const rejected = await ctl("apply -n one -f -", configMap("file"))
    expect(rejected).toMatchObject({
      code: 1,
      err: expect.stringMatching(/let `argo` have these fields, or .*`--force-conflicts`/),
    })
    expect((await ctl("apply -n one --force-conflicts -f -", configMap("file"))).code).toBe(0)
  })

  it("changes nothing in a dry run", async () => {
    const fresh = configMap("x").replace("name: c", "name: dry")
    expect((await ctl("apply -n one --dry-run=server -f -", fresh)).out).toBe(
      "configmap/dry created (server dry run)\n",
    )
    expect((await ctl("apply -n one --dry-run=client -f -", fresh)).out).toBe("configmap/dry created (dry run)\n")
    expect((await ctl("get cm dry -n one")).code).toBe(1)
    await ctl("apply -n one -f -", fresh)
    expect((await ctl("apply -n one --dry-run=client -f -", fresh)).out).toContain("unchanged")
    expect((await ctl("delete cm dry -n one --dry-run=server")).out).toContain("(server dry run)")
    expect((await ctl("get cm dry -n one")).code).toBe(0)
  })

  it("reports an error with its line, and applies the rest", async () => {
    const ran = await ctl("apply -n one -f -", `${peer("STRICKT")}---\n${configMap("rest")}`)
    expect(ran).toMatchObject({ code: 1, out: "configmap/c configured\n" })
    expect(ran.err).toContain(
      "standard input:4:21: spec.mtls.mode: unsupported value `STRICKT`; did you mean `STRICT`?",
    )
    expect(ran.err).toMatch(/\n {2}4 \| spec: .*\n {4}\| {21}\^\n/)
  })

  it.each([
    ["get pa defalt -n one", 1, "did you mean `default`?"],
    ["get cm c -n two", 1, "there is one with `-n one`"],
    ["get peerautentications", 1, "did you mean `peerauthentications`?"],
    ["apply -n nowhere -f -", 1, "`kubectl create namespace nowhere` makes it"],
    ["patch pa default -n one -p {", 1, "neither JSON nor YAML"],
    ["delete pa -n one", 2, "`--all`"],
    ["get", 2, "missing required argument"],
    ["get pa --nope", 2, "unknown option"],
    ["gte pa", 2, "Did you mean get?"],
    ["get pa --kubeconfig /nowhere", 3, "`/nowhere` does not exist"],
    ["get pa --context other", 3, "has no context `other`"],
  ])("`%s` exits with %i and says what to do", async (args, code, message) => {
    const ran = await ctl(args, configMap("x"))
    expect({ code: ran.code, err: ran.err }).toEqual({ code, err: expect.stringContaining(message) })
  })

  it("names the cluster that does not answer", async () => {
    const kubeconfig = join(programs.folder, "dead")
    writeFileSync(
      kubeconfig,
      "apiVersion: v1\nkind: Config\ncurrent-context: dead\nclusters: [{name: c, cluster: {server: 'https://127.0.0.1:1'}}]\ncontexts: [{name: dead, context: {cluster: c}}]\n",
    )
    const ran = await ctl(`get pa --kubeconfig ${kubeconfig}`)
    expect(ran).toMatchObject({ code: 3, err: expect.stringContaining(`context \`dead\` of \`${kubeconfig}\``) })
    expect(ran.err).toContain("is it running?")
  })

  it("finds the local mesh of the current folder", async () => {
    const below = join(programs.folder, "project", "deep")
    mkdirSync(join(programs.folder, "project", ".merlon"), { recursive: true })
    mkdirSync(below, { recursive: true })
    await copyFile(programs.cluster.kubeconfigPath, join(programs.folder, "project", ".merlon", "kubeconfig"))
    const ran = await programs.merlonctl(["get", "ns", "one", "-o", "name"], { cwd: below, env: { KUBECONFIG: "" } })
    expect(ran).toEqual({ code: 0, out: "namespace/one\n", err: "" })
  })

  it("watches changes under the same headings", async () => {
    await ctl("apply -n one -f -", peer("STRICT"))
    const child = programs.follow(["get", "pa", "-n", "one", "-w"])
    try {
      let out = ""
      const seen = (pattern: RegExp): Promise<void> =>
        new Promise((resolve, reject) => {
          const look = (): void => {
            if (!pattern.test(out)) return
            child.stdout?.off("data", look)
            resolve()
          }
          child.stdout?.on("data", look)
          child.once("exit", () => reject(new Error(`it ended; it said ${out}`)))
          look()
        })
      child.stdout?.on("data", (chunk: Buffer) => (out += chunk.toString()))
      await seen(/^NAME +MODE .*\ndefault +STRICT /)
      await ctl(`patch pa default -n one -p {"spec":{"mtls":{"mode":"DISABLE"}}}`)
      await seen(/\ndefault +DISABLE /)
      expect(out.match(/NAME/g)).toHaveLength(1)
    } finally {
      child.kill()
    }
  })

  it("deletes what a file, a label or `--all` selects, and never a whole kind by accident", async () => {
    const labelled = configMap("x").replace("name: c", "name: d, labels: {a: b}")
    await ctl("apply -n two -f -", `${labelled}---\n${configMap("y")}`)
    expect((await ctl("delete cm -n two -l a=b")).out).toBe('configmap "d" deleted\n')
    expect((await ctl("delete -n two -f -", configMap("y"))).out).toBe('configmap "c" deleted\n')
    await ctl("apply -n two -f -", peer("STRICT"))
    expect((await ctl("delete pa --all -n two -o name")).out).toBe("peerauthentication.security.merlon.dev/default\n")
  })

  it("waits for a condition of the stored version, not of an earlier one", async () => {
    for (const namespace of ["one", "two"]) {
      await kubectl(`delete pa default --ignore-not-found -n ${namespace}`)
      await kubectl(`apply -n ${namespace} -f -`, peer("STRICT"))
      const conditions = [{ type: "Enforced", status: "True", reason: "Enforced", message: "yes", ...NOW }]
      const status = JSON.stringify({ status: { conditions } })
      await kubectl(`patch pa default -n ${namespace} --subresource=status --type merge -p ${status}`)
    }
    const wait = "wait pa/default --for=condition=Enforced --timeout="
    expect(await ctl(`${wait}60s -n one`)).toMatchObject({ code: 0, out: expect.stringContaining("/default yes") })
    expect(await kubectl(`${wait}60s -n two`)).toMatchObject({ code: 0 })
    for (const namespace of ["one", "two"]) await kubectl(`apply -n ${namespace} -f -`, peer("PERMISSIVE"))
    const [ours, theirs] = await Promise.all([ctl(`${wait}1s -n one`), kubectl(`${wait}1s -n two`)])
    expect([ours.code, theirs.code]).toEqual([1, 1])
    expect(ours.err).toContain("`Enforced` is True of what was stored before: yes")
  })

  it("rejects a namespace that contradicts the document", async () => {
    const ran = await ctl("apply -n one -f -", configMap("x").replace("name: c", "name: c, namespace: two"))
    expect(ran).toMatchObject({ code: 1, err: expect.stringContaining("leave one of them out") })
  })

  it("serves a mesh of another name", async () => {
    const env = { MERLON_MESH: "dubbo", MERLON_DOMAIN: "dubbo.apache.org" }
    const ran = await programs.merlonctl(["get", "pa"], { env })
    expect(ran).toMatchObject({ code: 1, err: expect.stringContaining("peerauthentication.security.dubbo.apache.org") })
  })
})

/** Without the ages, because the two commands run at different times. */
function ageless(table: string): string {
  return table.replace(/\b(?:(?:\d+m)?\d+s|\d+m\b|AGE\b) */g, "AGE")
}

/** Arguments of a command line without quoted spaces. */
function words(line: string): readonly string[] {
  return line.split(" ")
}
