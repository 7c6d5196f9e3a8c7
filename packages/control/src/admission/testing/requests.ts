// SPDX-License-Identifier: Apache-2.0
// Admission requests as the API server sends them.

import type { AdmissionRequest } from "../review.js"

export function question(object: object, request: Partial<AdmissionRequest> = {}): AdmissionRequest {
  const { apiVersion, kind } = object as { readonly apiVersion: string; readonly kind: string } // every object has both
  const [version = "", group = ""] = apiVersion.split("/").reverse()
  return {
    uid: "u",
    operation: "CREATE",
    group,
    version,
    kind,
    namespace: "foo",
    name: "one",
    subresource: "",
    user: "jane",
    dryRun: false,
    object,
    oldObject: null,
    ...request,
  }
}

export function reviewBody({
  uid,
  operation,
  group,
  version,
  kind,
  namespace,
  name,
  user,
  object,
  oldObject,
}: AdmissionRequest) {
  return {
    apiVersion: "admission.k8s.io/v1",
    kind: "AdmissionReview",
    request: {
      ...{ uid, operation, kind: { group, version, kind }, namespace, name, object, oldObject },
      userInfo: { username: user },
    },
  }
}
