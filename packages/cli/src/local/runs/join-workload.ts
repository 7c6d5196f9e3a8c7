// SPDX-License-Identifier: Apache-2.0
// Makes an instance a member of the mesh: its Pod, its token, and the files for its proxy. Existing declarations stay;
// only tokens are renewed.

import { existsSync, readFileSync, rmSync } from "node:fs"
import { join } from "node:path"
import { writePrivateFile } from "@merlon/xds/runtime"
import { pathOf } from "../../ctl/api/path.js"
import type { Session } from "../../ctl/session.js"
import { bootstrapText, prepareFolder, writeBootstrap } from "../../ctl/workload/bootstrap-files.js"
import { type Declaration, declaredPod, frozenDifference, isDeclared } from "../../ctl/workload/declared-pod.js"
import { boundToken, ensurePod, getOrNothing, PODS, rootCertificate } from "../../ctl/workload/enrol.js"
import { USUAL } from "../layout/choose-places.js"
import type { SampleInstance } from "../layout/samples.js"
import type { Place } from "../record/mesh-record.js"
import { bootstrapProbe } from "./run-spec.js"

export const TOKEN_SECONDS = 86_400

export interface Membership {
  readonly instance: SampleInstance
  readonly place: Place
  readonly folder: string
}

/** Returns the path of the bootstrap file. */
export async function joinWorkload(session: Session, membership: Membership, meshPort: number): Promise<string> {
  const { instance, place, folder } = membership
  const declaration = declarationOf(membership)
  const { namespace } = instance
  const trustBundle = await rootCertificate(session, namespace)
  prepareFolder(folder)
  await removeOutdated(session, declaration)
  const { change, pod } = await ensurePod(session, declaration)
  // A new Pod has no earlier credentials, and neither has a mesh with another root: stored ones would be those of
  // another mesh.
  if (change === "created" || !isSameRoot(folder, trustBundle)) {
    rmSync(join(folder, "state"), { recursive: true, force: true })
  }
  await tellListenPort(session, declaration, place)
  const { token } = await boundToken(session, pod, declaration, TOKEN_SECONDS)
  const { address } = place
  const controlPlane = `127.0.0.1:${meshPort}`
  const { application } = instance
  const spec = application.kind === "command" ? application.spec : undefined
  const text = bootstrapText(
    declaration,
    {
      controlPlane,
      address,
      listen: address,
      application: spec?.listensOn ?? address,
      ...(spec && { probe: bootstrapProbe(spec.probe, spec.port) }),
    },
    session.names,
  )
  return writeBootstrap(folder, text, token, trustBundle)
}

/** Writes a new token for a running workload. Its proxy reads the file each time it needs it. */
export async function renewToken(session: Session, membership: Membership): Promise<void> {
  const { folder, instance } = membership
  const declaration = declarationOf(membership)
  const pod = await getOrNothing(session, PODS, instance.name, instance.namespace)
  if (pod === undefined) return
  const { token } = await boundToken(session, pod, declaration, TOKEN_SECONDS)
  // Only the token: a rewritten trust bundle would count as newer than the one from the control plane.
  writePrivateFile(folder, "token", token)
}

function declarationOf({ instance, place }: Membership): Declaration {
  const { namespace, name, labels, serviceAccount, application } = instance
  const ports =
    application.kind === "caller"
      ? []
      : [{ port: place.application, protocol: application.kind === "command" ? application.protocol : "http" }]
  return { namespace, name, labels, serviceAccount, ports }
}

/** Deletes a Pod with other ports than the declaration, because the ports of a Pod cannot change. */
async function removeOutdated(session: Session, declaration: Declaration): Promise<void> {
  const { namespace, name } = declaration
  const live = await getOrNothing(session, PODS, name, namespace)
  if (live === undefined || !isDeclared(live, session.names)) return
  if (frozenDifference(live, declaredPod(declaration, session.names)) === undefined) return
  const body = { gracePeriodSeconds: 0, preconditions: { uid: live.metadata.uid } }
  await session.api.request({ method: "DELETE", path: pathOf(PODS, { namespace, name }), body })
}

/** Publishes the listening port of a proxy that does not use the usual one, so that callers find it. */
async function tellListenPort(session: Session, { namespace, name, ports }: Declaration, place: Place): Promise<void> {
  const [port] = ports
  const value = port === undefined || place.xserver === USUAL.xserver ? null : `${port.port}:${place.xserver}`
  const body = { metadata: { annotations: { [`${session.names.domain}/listen-ports`]: value } } }
  const contentType = "application/merge-patch+json"
  await session.api.request({ method: "PATCH", path: pathOf(PODS, { namespace, name }), body, contentType })
}

function isSameRoot(folder: string, trustBundle: string): boolean {
  const file = join(folder, "root.pem")
  return existsSync(file) && readFileSync(file, "utf8") === trustBundle
}
