// SPDX-License-Identifier: Apache-2.0
// Creates the samples' namespaces, service accounts and Services in the cluster. Existing objects are left unchanged.

import { ApiError } from "@merlon/control/kubernetes"
import { pathOf } from "../../ctl/api/path.js"
import type { AnyObject, Resource } from "../../ctl/catalog/resource.js"
import type { Session } from "../../ctl/session.js"

export async function declareSamples(session: Session, documents: readonly AnyObject[]): Promise<void> {
  for (const body of documents) {
    const path = pathOf(resourceOf(body), { namespace: body.metadata.namespace }, { fieldManager: "merlonctl" })
    try {
      await session.api.request({ method: "POST", path, body })
    } catch (error) {
      if (!(error instanceof ApiError) || error.reason !== "AlreadyExists") throw error
    }
  }
}

function resourceOf({ apiVersion, kind }: AnyObject): Resource {
  const singular = kind.toLowerCase()
  const [version = "", group = ""] = apiVersion.split("/").reverse()
  return {
    group,
    version,
    plural: singular.replace(/y?$/, end => (end === "y" ? "ies" : "s")),
    singular,
    kind,
    namespaced: kind !== "Namespace",
    shortNames: [],
    categories: [],
  }
}
