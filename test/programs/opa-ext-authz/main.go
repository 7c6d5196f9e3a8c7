// SPDX-License-Identifier: Apache-2.0

// Opa-ext-authz answers Envoy's ext_authz over gRPC with a Rego policy: `data.envoy.authz.allow`, a boolean or an object
// with `allowed`, `http_status`, `headers` and `body`. OPA's own plugin for Envoy reads the same input; this program has
// only the part that tests and benchmarks need.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net"
	"os"

	core "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	auth "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"
	types "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"github.com/open-policy-agent/opa/v1/rego"
	"google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/protojson"
)

type server struct {
	auth.UnimplementedAuthorizationServer
	query rego.PreparedEvalQuery
}

func (s *server) Check(ctx context.Context, request *auth.CheckRequest) (*auth.CheckResponse, error) {
	text, err := protojson.Marshal(request)
	if err != nil {
		return nil, err
	}
	var input any
	if err := json.Unmarshal(text, &input); err != nil {
		return nil, err
	}
	results, err := s.query.Eval(ctx, rego.EvalInput(input))
	if err != nil {
		return nil, err
	}
	if len(results) == 0 || len(results[0].Expressions) == 0 {
		return nil, fmt.Errorf("data.envoy.authz.allow is undefined")
	}
	switch said := results[0].Expressions[0].Value.(type) {
	case bool:
		return answer(said, map[string]any{}), nil
	case map[string]any:
		allowed, _ := said["allowed"].(bool)
		return answer(allowed, said), nil
	}
	return nil, fmt.Errorf("data.envoy.authz.allow is neither a boolean nor an object")
}

func answer(allowed bool, said map[string]any) *auth.CheckResponse {
	headers := []*core.HeaderValueOption{}
	if named, ok := said["headers"].(map[string]any); ok {
		for name, value := range named {
			header := &core.HeaderValue{Key: name, Value: fmt.Sprint(value)}
			headers = append(headers, &core.HeaderValueOption{Header: header})
		}
	}
	if allowed {
		ok := &auth.CheckResponse_OkResponse{OkResponse: &auth.OkHttpResponse{Headers: headers}}
		return &auth.CheckResponse{Status: &status.Status{Code: 0}, HttpResponse: ok}
	}
	body, _ := said["body"].(string)
	denied := &auth.DeniedHttpResponse{Headers: headers, Body: body}
	if number, ok := said["http_status"].(json.Number); ok {
		code, _ := number.Int64()
		denied.Status = &types.HttpStatus{Code: types.StatusCode(code)}
	}
	response := &auth.CheckResponse_DeniedResponse{DeniedResponse: denied}
	return &auth.CheckResponse{Status: &status.Status{Code: 7}, HttpResponse: response}
}

func main() {
	if len(os.Args) != 3 {
		log.Fatal("usage: opa-ext-authz HOST:PORT POLICY.rego")
	}
	query, err := rego.New(rego.Query("data.envoy.authz.allow"), rego.Load([]string{os.Args[2]}, nil)).PrepareForEval(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	listener, err := net.Listen("tcp", os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	grpcServer := grpc.NewServer()
	auth.RegisterAuthorizationServer(grpcServer, &server{query: query})
	log.Fatal(grpcServer.Serve(listener))
}
