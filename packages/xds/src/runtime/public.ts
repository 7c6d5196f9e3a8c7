// SPDX-License-Identifier: Apache-2.0
// What all our processes use: logging, timers that survive suspension, event emitters, private files.

export { bindHost } from "./bind-host.js"
export { canonicalJson, contentVersion } from "./canonical-json.js"
export { capturePeerCertificate, takePeerCertificate } from "./captured-certificate.js"
export { readCheckedFile, writeCheckedFile, writeCheckedFileLater } from "./checked-file.js"
export { Emitter } from "./emitter.js"
export { fileOutput, type LineOutput, standardOutput } from "./line-output.js"
export { type Log, messageOf } from "./log.js"
export { isOwnUser } from "./peer-uid.js"
export { readPrivateFile, removePrivateFile, writePrivateFile } from "./private-file.js"
export { SerialQueue } from "./serial-queue.js"
export { startWorker, type WorkerCode } from "./start-worker.js"
export { suspendAwareTimeout } from "./suspend-aware-timeout.js"
export { readUtf8File } from "./utf8-file.js"
