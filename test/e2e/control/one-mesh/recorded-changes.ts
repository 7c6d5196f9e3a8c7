// SPDX-License-Identifier: Apache-2.0
// What a running control plane records of changes: who made them, the proved difference, and its certificate, which the
// real `proof-check` checks.

import { execFile } from "node:child_process"
import { join, resolve } from "node:path"
import { gunzipSync, gzipSync } from "node:zlib"
import { beforeAll, describe, expect, it, vi } from "vitest"
import { CONFIG_MAPS } from "../../../../packages/control/src/kubernetes/resource-type.js"
import { names, WAIT } from "../support/cluster-api.js"
import type { Mesh } from "../support/mesh.js"
import { GIVEN_CLUSTER } from "../support/test-cluster.js"

interface Recorded {
  readonly time: string
  readonly user?: string
  readonly operation: string
  readonly before?: string
  readonly after?: string
  readonly previous?: string
  readonly certificate?: { readonly digest: string; readonly size: number }
  readonly digest: string
}

const namespace = "recorded"
const path = `/apis/answers.merlon.dev/v1alpha1/namespaces/${namespace}`

export function recordedChanges(started: () => Mesh): void {
  describe("changes that a running control plane records (needs kubectl)", { tags: ["needs/kubectl"] }, () => {
    let mesh: Mesh
    let entries: readonly Recorded[]

    const run = (program: string, ...args: readonly string[]) =>
      new Promise<{ code: number; out: string; err: string }>(done => {
        const env = { ...process.env, KUBECONFIG: GIVEN_CLUSTER ?? mesh.control.kubeconfig, HOME: mesh.folder }
        execFile(process.execPath, [resolve(program), ...args], { env, cwd: mesh.folder }, (error, out, err) =>
          done({ code: typeof error?.code === "number" ? error.code : 0, out, err }),
        )
      })
    const history = (...args: readonly string[]) =>
      run("packages/cli/bin/merlonctl.js", "history", "-n", namespace, ...args)
    const check = (...args: readonly string[]) => run("packages/proof-check/bin/proof-check.js", ...args)
    const changes = async (): Promise<readonly Recorded[]> => {
      const { out } = await mesh.api.kubectl(`get --raw ${path}/changes`)
      const { items } = JSON.parse(out) as { readonly items: readonly { readonly spec: Recorded }[] } // our own API
      return items.map(({ spec }) => spec)
    }
    const apply = async (namespaces: readonly string[], ...flags: readonly string[]): Promise<void> => {
      const document = {
        apiVersion: `${names.securityGroup}/${names.version}`,
        kind: "AuthorizationPolicy",
        metadata: { name: "web", namespace },
        spec: { rules: [{ from: [{ source: { namespaces } }] }] },
      }
      const ran = await mesh.api.kubectl(["apply -f -", ...flags].join(" "), JSON.stringify(document))
      expect(ran).toMatchObject({ code: 0 })
    }

    beforeAll(async () => {
      mesh = started()
      await mesh.api.put({ apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } })
      const spec = { containers: [{ name: "app", image: "app:1", ports: [{ containerPort: 8080 }] }] }
      await mesh.api.put({ apiVersion: "v1", kind: "Pod", metadata: { name: "web", namespace }, spec })
      await apply(["ops"])
      await vi.waitFor(async () => expect(await changes()).toMatchObject([{ operation: "create" }]), WAIT)
      await apply(["ops", "never"], "--dry-run=server")
      await apply(["ops", "dev"])
      await vi.waitFor(async () => expect(await changes()).toHaveLength(2), WAIT)
      entries = await changes()
    })

    it("names who changed a policy, and proves what changed since a given time", async () => {
      const [updated, created] = entries
      expect(updated).toMatchObject({ operation: "update", before: created?.after, previous: created?.digest })
      expect(updated?.user).toEqual(expect.stringMatching(/./))
      const since = JSON.stringify({ spec: { since: created?.time } })
      const asked = await mesh.api.kubectl(`create --raw ${path}/diffs -f -`, since)
      expect(JSON.parse(asked.out)).toMatchObject({
        status: {
          result: "different",
          groups: [{ changes: [{ from: "deny", to: "allow", region: "any request from namespace dev" }] }],
        },
      })
    })

    it("keeps certificates that `proof-check` accepts with the policies of that moment", async () => {
      const [updated, created] = entries
      for (const [name, ...args] of [["newest"], ["first", "--entry", created?.digest ?? ""]] as const) {
        const ran = await history("--certificate", `${name}.json`, "--policies", name, ...args)
        expect(ran, ran.err).toMatchObject({ code: 0, out: expect.stringContaining(`certificate of `) })
        const checked = await check(`${name}.json`, "--from", join(name, "before"), "--to", join(name, "after"))
        expect(checked).toMatchObject({ code: 0, out: expect.stringMatching(/recorded\/web.*\n(.*\n)*valid\n$/) })
      }
      expect((await check("newest.json", "--from", "newest/after", "--to", "newest/before")).code).toBe(3)
      expect(updated?.certificate?.digest).not.toBe(created?.certificate?.digest)
    })

    it("reports a certificate that it does not have", async () => {
      const ran = await history("--certificate", "none.json", "--entry", "7-000000000000")
      expect(ran).toMatchObject({ code: 1, err: expect.stringContaining("no change with the entry") })
    })

    it("finds a certificate that was changed", async () => {
      expect(await history("--verify")).toMatchObject({
        code: 0,
        out: expect.stringContaining(", 2 certificates, ver"),
      })
      const stored = await mesh.api.client.get(CONFIG_MAPS, `merlon-history-${namespace}.certificates`, "merlon-system")
      if (stored === undefined) return expect.fail("no certificates are stored")
      const { certificates, ...data } = stored.data as Readonly<Record<string, string>> // a ConfigMap has texts
      const all: Record<string, string> = JSON.parse(certificates ?? "")
      const digest = entries[0]?.certificate?.digest ?? ""
      const text = gunzipSync(Buffer.from(all[digest] ?? "", "base64")).toString()
      const forged = gzipSync(text.replace("dev", "ops")).toString("base64")
      const changed = JSON.stringify({ ...all, [digest]: forged })
      await mesh.api.client.replace(CONFIG_MAPS, { ...stored, data: { ...data, certificates: changed } })
      const verified = await history("--verify")
      expect(verified).toMatchObject({
        code: 5,
        out: expect.stringContaining("the certificate of entry 2 was changed"),
      })
      const written = await history("--certificate", "forged.json")
      expect(written).toMatchObject({ code: 4, err: expect.stringContaining("was changed after it was written") })
    })
  })
}
