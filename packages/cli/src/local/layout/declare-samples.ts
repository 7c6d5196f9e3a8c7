// SPDX-License-Identifier: Apache-2.0
// The samples' namespaces, service accounts and Services in the cluster. What is there already stays as somebody has made
// it.

import { ApiError } from "@merlon/control/kubernetes"
import { pathOf } from "../../ctl/api/path.js"
import type { AnyObject, Resource } from "../../ctl/catalog/resource.js"
import type { Session } from "../../ctl/session.js"

export async function declareSamples(session: Session, documents: readonly AnyObject[]): Promise<void> {
  for (const body of documents) {
    const path = pathOf(resourceOf(body.kind), { namespace: body.metadata.namespace }, { fieldManager: "merlonctl" })
    try {
      await session.api.request({ method: "POST", path, body })
    } catch (error) {
      if (!(error instanceof ApiError) || error.reason !== "AlreadyExists") throw error
    }
  }
}

function resourceOf(kind: string): Resource {
  const singular = kind.toLowerCase()
  return {
    group: "",
    version: "v1",
    plural: `${singular}s`,
    singular,
    kind,
    namespaced: kind !== "Namespace",
    shortNames: [],
    categories: [],
  }
}
