// SPDX-License-Identifier: Apache-2.0
// A workload acknowledges what only another one was sent, on the real stream port and with its own certificate. Both
// use the same service account, so only their Pods distinguish them. A policy's status must only count its own proxies.

import { makeSigningRequest } from "@merlon/identity"
import { PROXY_RESOURCE } from "@merlon/xds"
import { MeshClient } from "@merlon/xds/client"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { RawClient } from "../../../../packages/xds/src/testing/raw-client.js"
import { names } from "../support/cluster-api.js"
import type { DeclaredWorkload } from "../support/declared-workload.js"
import { deny, type Mesh } from "../support/mesh.js"

const AP = "AuthorizationPolicy"
const SERVER_NAME = `${names.mesh}d.${names.rootNamespace}.svc`
const VICTIM = "forge/victim"
const FORGER = "forge/forger"
const POLICY = `policy/${AP}/forge/kept`

type Proof = Pick<ConstructorParameters<typeof RawClient>[0], "token" | "credentials">
type DeltaStream = ReturnType<RawClient["delta"]>

export function forgedAcknowledgements(started: () => Mesh): void {
  describe("acknowledgements that another workload forges", () => {
    const clients: RawClient[] = []
    let mesh: Mesh
    let victim: DeltaStream
    let forger: RawClient
    /** Nonce and version that the victim was sent and has not acknowledged. */
    let nonce: string
    let version: string

    const client = (workload: DeclaredWorkload, proof: Proof): RawClient => {
      const address = `127.0.0.1:${mesh.control.meshPort}`
      const made = new RawClient({ address, bundle: workload.trustBundle, serverName: SERVER_NAME, ...proof })
      clients.push(made)
      return made
    }
    const certified = async (workload: DeclaredWorkload): Promise<RawClient> => {
      const signing = new MeshClient({
        address: `127.0.0.1:${mesh.control.meshPort}`,
        serverName: SERVER_NAME,
        trustBundle: () => workload.trustBundle,
        proof: () => ({ token: workload.token }),
        node: { id: workload.key, metadata: () => ({}) },
        subscriptions: [],
      })
      const { privateKey, request } = makeSigningRequest()
      const { certificateChain } = await signing.signCertificate(request)
      return client(workload, { credentials: { chain: certificateChain, privateKey } })
    }
    const acknowledge = (stream: DeltaStream, responseNonce: string): void =>
      stream.send({ typeUrl: PROXY_RESOURCE, responseNonce })
    /** A stream of the forger, which acknowledges whatever it is sent. */
    const forgerStream = (): DeltaStream => {
      const stream = forger.delta()
      stream.call.on("data", response => acknowledge(stream, response.nonce))
      return stream
    }
    const condition = (type: string) => mesh.api.condition(AP, "kept", "forge", type)

    /** Waits until the control plane has read what the forger sent: a stream is read in order, and this comes later. */
    const readAll = async (name: string): Promise<void> => {
      await mesh.api.put(deny(name, `/${name}`, "forger", "forge"))
      await mesh.api.becomes(AP, name, "forge", "Enforced", "True")
    }
    const isNotCounted = async (): Promise<void> => {
      const { text } = await mesh.control.health("/debug/proxies")
      const { proxies } = JSON.parse(text) as { proxies: { key: string; behind: number }[] }
      expect(proxies.find(({ key }) => key === VICTIM)?.behind).toBeGreaterThan(0)
      expect(await condition("Enforced")).toMatchObject({
        status: "False",
        message: `enforced by 0 of 1 proxy at generation 1; waiting for ${VICTIM}`,
      })
      expect((await condition("Ready"))?.status).toBe("False")
    }

    beforeAll(async () => {
      mesh = started()
      const more = { namespace: "forge", serviceAccount: "shared" }
      const [victimWorkload, forgerWorkload] = [await mesh.declare("victim", more), await mesh.declare("forger", more)]
      victim = client(victimWorkload, { token: victimWorkload.token }).delta()
      victim.send({ node: { id: VICTIM }, typeUrl: PROXY_RESOURCE })
      acknowledge(victim, (await victim.response(0)).nonce)
      forger = await certified(forgerWorkload)
      await mesh.api.put(deny("kept", "/kept", "victim", "forge"))
      const update = await victim.response(1)
      expect(update.resources.map(({ name }) => name)).toEqual([POLICY])
      nonce = update.nonce
      version = update.resources[0]?.version ?? ""
      await mesh.api.becomes(AP, "kept", "forge", "Enforced", "False")
    })
    afterAll(() => {
      for (const { client: channel } of clients) channel.close()
    })

    it("do not count by nonce, name and version on a stream of its own", async () => {
      const stream = forgerStream()
      stream.send({ node: { id: FORGER }, typeUrl: PROXY_RESOURCE })
      await stream.response(0)
      stream.send({ typeUrl: PROXY_RESOURCE, responseNonce: nonce })
      stream.send({ typeUrl: PROXY_RESOURCE, responseNonce: nonce, resourceNamesSubscribe: [POLICY] })
      stream.send({ typeUrl: PROXY_RESOURCE, responseNonce: nonce, initialResourceVersions: { [POLICY]: version } })
      stream.send({ node: { id: VICTIM }, typeUrl: PROXY_RESOURCE, responseNonce: nonce })
      await readAll("own")
      await isNotCounted()
      expect(stream.responses.flatMap(({ resources }) => resources.map(({ name }) => name))).not.toContain(POLICY)
      stream.call.end()
    })

    it("do not count as versions that a new stream reports", async () => {
      const stream = forgerStream()
      stream.send({ node: { id: FORGER }, typeUrl: PROXY_RESOURCE, initialResourceVersions: { [POLICY]: version } })
      await stream.response(0)
      await readAll("claimed")
      await isNotCounted()
      stream.call.end()
    })

    it("end a stream that names the other's node", async () => {
      const stream = forger.delta()
      const initialResourceVersions = { [POLICY]: version }
      stream.send({ node: { id: VICTIM }, typeUrl: PROXY_RESOURCE, responseNonce: nonce, initialResourceVersions })
      expect(await stream.ended()).toMatch(
        /^PERMISSION_DENIED: .*bound to the Pod `forger` and may not read the configuration of `forge\/victim`/,
      )
      const sotw = forger.sotw()
      sotw.send({ node: { id: VICTIM }, typeUrl: PROXY_RESOURCE, responseNonce: nonce, versionInfo: version })
      expect(await sotw.ended()).toMatch(/^PERMISSION_DENIED/)
      await isNotCounted()
    })

    it("leave the workload's own acknowledgement to count", async () => {
      acknowledge(victim, nonce)
      await mesh.api.becomes(AP, "kept", "forge", "Enforced", "True")
    })
  })
}
