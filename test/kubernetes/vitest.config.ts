// SPDX-License-Identifier: Apache-2.0
import { defineConfig } from "vitest/config"
import { BaseSequencer, type TestSpecification } from "vitest/node"
import { programTags } from "../runner/programs.js"

/** One cluster, one thing after the other: the names of the files are their order. */
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
    // Above every limit inside, so that what fails says what it waited for; a busy machine is slow, and that is no failure.
    testTimeout: 900_000,
    hookTimeout: 900_000,
  },
})
