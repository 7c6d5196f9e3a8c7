// SPDX-License-Identifier: Apache-2.0
// Checks with the cluster whether the user is authorized: one SubjectAccessReview per query.

import type { KubernetesClient } from "../../kubernetes/client.js"
import { type KubernetesObject, SUBJECT_ACCESS_REVIEWS } from "../../kubernetes/resource-type.js"
import { objectOf } from "../../registry/foreign.js"
import { AnswersApiError } from "./answers-api-error.js"
import type { RemoteUser } from "./remote-user.js"

export interface AccessRequest {
  readonly verb: string
  readonly group: string
  readonly version: string
  readonly resource: string
  /** All namespaces if undefined. */
  readonly namespace: string | undefined
  readonly name: string | undefined
}

/** Throws if the cluster denies the request or does not answer. */
export async function permit(
  client: Pick<KubernetesClient, "create">,
  user: RemoteUser,
  request: AccessRequest,
): Promise<void> {
  const { namespace, name, ...attributes } = request
  const review = await client.create<KubernetesObject>(SUBJECT_ACCESS_REVIEWS, {
    apiVersion: "authorization.k8s.io/v1",
    kind: "SubjectAccessReview",
    metadata: { name: "" },
    spec: {
      user: user.name,
      groups: user.groups,
      extra: user.extra,
      ...(user.uid === undefined ? {} : { uid: user.uid }),
      resourceAttributes: {
        ...attributes,
        ...(namespace === undefined ? {} : { namespace }),
        ...(name === undefined ? {} : { name }),
      },
    },
  })
  const { allowed, denied } = objectOf(review.status)
  // Fail closed: anything but a clear yes is a no.
  if (allowed === true && denied !== true) return
  const where = namespace === undefined ? "at the cluster scope" : `in the namespace "${namespace}"`
  const what = `${request.resource}.${request.group}`
  const message = `${what} is forbidden: User "${user.name}" cannot ${request.verb} resource "${request.resource}" in API group "${request.group}" ${where}`
  throw new AnswersApiError(403, "Forbidden", message)
}
