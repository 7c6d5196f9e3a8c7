// SPDX-License-Identifier: Apache-2.0
// What other packages use of the server: starting it, its limits, and its callbacks.

export type { SessionGrant } from "./listener.js"
export { MeshServer } from "./mesh-server.js"
export type { MeshServerOptions } from "./options.js"
export type { PeerCertificate } from "./peer-certificate.js"
export type { ObservationSink } from "./serve-observations.js"
export type {
  Caller,
  ClientNode,
  HeldVersions,
  Rejection,
  ResourceSource,
  Snapshot,
  Subscriber,
  VersionedResource,
} from "./source.js"
