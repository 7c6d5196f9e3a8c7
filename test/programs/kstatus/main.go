// SPDX-License-Identifier: Apache-2.0

// Kstatus reads a list of objects from standard input, as JSON, and prints the status of each as Flux and other tools compute
// it, one per line: Current, InProgress, Failed or Terminating.
package main

import (
	"fmt"
	"io"
	"log"
	"os"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
)

func main() {
	text, err := io.ReadAll(os.Stdin)
	if err != nil {
		log.Fatal(err)
	}
	var objects []any
	if err := json.Unmarshal(text, &objects); err != nil {
		log.Fatal(err)
	}
	for _, object := range objects {
		fields, isObject := object.(map[string]any)
		if !isObject {
			log.Fatalf("not an object: %v", object)
		}
		result, err := status.Compute(&unstructured.Unstructured{Object: fields})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(result.Status)
	}
}
