// SPDX-License-Identifier: Apache-2.0
// The cluster objects that a run needs before its workloads are declared: namespace, service account, Service.

import type { MeshNames } from "@merlon/policy/mesh"
import type { AnyObject } from "../../ctl/catalog/resource.js"
import { type RunSpec, serviceOf } from "./run-spec.js"

export function runDocuments(spec: RunSpec, names: MeshNames): readonly AnyObject[] {
  const { namespace, serviceAccount, protocol, servicePort, labels } = spec
  const name = serviceOf(spec)
  return [
    {
      apiVersion: "v1",
      kind: "Namespace",
      metadata: { name: namespace, labels: { [names.injectionLabel]: "enabled" } },
    },
    { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: serviceAccount, namespace } },
    {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name, namespace, labels: { app: name } },
      spec: {
        selector: { app: labels.app ?? name },
        // By name, because the port number of an instance differs if the usual one is taken.
        ports: [{ name: protocol, port: servicePort, targetPort: protocol, protocol: "TCP" }],
      },
    },
  ]
}
