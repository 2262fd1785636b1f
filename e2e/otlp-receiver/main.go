// Command otlp-receiver is the OpenTelemetry Collector's receiver of OTLP over HTTP, and writes what it gets to a file:
// one line of OTLP's JSON for each request, until SIGTERM.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/config/configgrpc"
	"go.opentelemetry.io/collector/config/configoptional"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:4318", "address to listen on")
	output := flag.String("output", "traces.jsonl", "file to append to")
	flag.Parse()
	if err := run(*listen, *output); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(listen, output string) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	file, err := os.OpenFile(output, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer file.Close()
	lines, err := consumer.NewTraces(writeTo(file))
	if err != nil {
		return err
	}
	factory := otlpreceiver.NewFactory()
	config := factory.CreateDefaultConfig().(*otlpreceiver.Config)
	config.Protocols.GRPC = configoptional.None[configgrpc.ServerConfig]()
	config.Protocols.HTTP.GetOrInsertDefault().ServerConfig.NetAddr.Endpoint = listen
	settings := receiver.Settings{
		ID:                component.NewID(factory.Type()),
		TelemetrySettings: componenttest.NewNopTelemetrySettings(),
	}
	traces, err := factory.CreateTraces(ctx, settings, config, lines)
	if err != nil {
		return err
	}
	if err := traces.Start(ctx, componenttest.NewNopHost()); err != nil {
		return err
	}
	<-ctx.Done()
	return traces.Shutdown(context.Background())
}

func writeTo(file io.Writer) func(context.Context, ptrace.Traces) error {
	var one sync.Mutex
	json := ptrace.JSONMarshaler{}
	return func(_ context.Context, traces ptrace.Traces) error {
		line, err := json.MarshalTraces(traces)
		if err != nil {
			return err
		}
		one.Lock()
		defer one.Unlock()
		_, err = file.Write(append(line, '\n'))
		return err
	}
}
