// SPDX-License-Identifier: Apache-2.0
// Runs docs/kubernetes.md on an empty cluster, as a reader types it.

import { afterAll, inject, it } from "vitest"
import { imagesOfThisTree } from "../node/images.js"
import { kubectl } from "../support/cluster.js"
import { walkPage } from "../support/page.js"

afterAll(() => kubectl("delete", "namespace", "foo", "app", "merlon-system", "--ignore-not-found"))

it.skipIf(inject("image") !== imagesOfThisTree().image)(
  "takes a reader from an empty cluster to an enforced policy and back",
  () => walkPage(),
)
