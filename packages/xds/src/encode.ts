// SPDX-License-Identifier: Apache-2.0
// Encodes a resource for a proxy, as the message inside the Any. The contents are JSON, so that a policy remains the
// document that users wrote.

import { create, toBinary } from "@bufbuild/protobuf"
import { type ProxyResource as ProxyResourceMessage, ProxyResourceSchema } from "./generated/merlon/mesh/v1/mesh_pb.js"
import type { ProxyResource } from "./proxy-resource.js"

export function encodeProxyResource(resource: ProxyResource): Uint8Array {
  return toBinary(ProxyResourceSchema, create(ProxyResourceSchema, { content: contentOf(resource) }))
}

function contentOf(resource: ProxyResource): ProxyResourceMessage["content"] {
  switch (resource.kind) {
    case "workload":
      return { case: "workload", value: JSON.stringify(resource.workload) }
    case "policy":
      return { case: "policy", value: JSON.stringify(resource.document) }
    case "keySet":
      return { case: "keySet", value: JSON.stringify(resource.keySet) }
    case "trust":
      return { case: "trust", value: JSON.stringify(resource.trust) }
  }
}
