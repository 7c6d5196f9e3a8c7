// SPDX-License-Identifier: Apache-2.0
import { defineConfig } from "vitest/config"
import { BaseSequencer, type TestSpecification } from "vitest/node"
import { programTags } from "../runner/programs.js"

/** There is one cluster, so suites run one after the other, in the order of their file names. */
class ByName extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return [...files].sort((a, b) => (a.moduleId < b.moduleId ? -1 : 1))
  }
}

export default defineConfig({
  test: {
    include: ["test/kubernetes/suites/*.kube.ts"],
    globalSetup: ["test/kubernetes/support/setup.ts"],
    fileParallelism: false,
    tags: programTags(),
    reporters: ["default", "./test/runner/skipped-table.ts"],
    sequence: { sequencer: ByName },
    // Longer than every limit inside the tests, so that a failure names what it waited for. Slowness of a busy machine
    // is not a failure.
    testTimeout: 900_000,
    hookTimeout: 900_000,
  },
})
