// SPDX-License-Identifier: Apache-2.0

// An ordinary Go program without any support for a mesh: net/http and grpc-go servers that respond with what their proxy
// reports about the caller, and clients that print that response and its status, one line per destination.
package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	health_v1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/reflection"
	"google.golang.org/grpc/status"
)

const identity = "x-forwarded-client-cert"

func main() {
	command, arguments := os.Args[1], os.Args[2:]
	switch command {
	case "serve":
		go serveHTTP(arguments[0])
		serveGRPC(arguments[1])
	case "http":
		for _, url := range arguments {
			fmt.Println(get(url))
		}
	case "grpc":
		for _, target := range arguments {
			fmt.Println(check(target))
		}
	default:
		fail(fmt.Errorf("unknown command %s", command))
	}
}

func serveHTTP(address string) {
	answer := func(response http.ResponseWriter, request *http.Request) {
		fmt.Fprint(response, request.Header.Get(identity))
	}
	fail(http.ListenAndServe(address, http.HandlerFunc(answer)))
}

// serveGRPC offers health and reflection, and returns the caller as a header.
func serveGRPC(address string) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		fail(err)
	}
	echo := func(ctx context.Context) metadata.MD {
		received, _ := metadata.FromIncomingContext(ctx)
		return metadata.Pairs("x-caller", strings.Join(received.Get(identity), ","))
	}
	unary := func(ctx context.Context, request any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		if err := grpc.SetHeader(ctx, echo(ctx)); err != nil {
			return nil, err
		}
		return next(ctx, request)
	}
	server := grpc.NewServer(grpc.UnaryInterceptor(unary))
	health_v1.RegisterHealthServer(server, health.NewServer())
	reflection.Register(server)
	fail(server.Serve(listener))
}

func get(url string) string {
	client := http.Client{Timeout: 15 * time.Second}
	response, err := client.Get(url)
	if err != nil {
		return err.Error()
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%s %s %d", response.Header.Get("x-merlon-decision"), body, response.StatusCode)
}

// check makes one call, then opens a stream and waits for its first message.
func check(target string) string {
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Second)
	defer cancel()
	connection, err := grpc.NewClient(target, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err.Error()
	}
	defer connection.Close()
	client := health_v1.NewHealthClient(connection)
	var headers metadata.MD
	_, err = client.Check(ctx, &health_v1.HealthCheckRequest{}, grpc.Header(&headers))
	if err == nil {
		var stream health_v1.Health_WatchClient
		if stream, err = client.Watch(ctx, &health_v1.HealthCheckRequest{}); err == nil {
			_, err = stream.Recv()
		}
	}
	return fmt.Sprintf("%s %s", strings.Join(headers.Get("x-caller"), ","), status.Code(err))
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
