// What runs in Pods of clusters with nodes: a server that reports who answers and who asked, over HTTP and UDP, and a
// program that does nothing, for the containers that hold the Pods' networks. Standard library only, linked statically.
//
//	pod-server          serves port 8080 (TCP: HTTP, UDP: any datagram) until SIGTERM
//	pod-server pause    waits until SIGTERM, and reaps what is left to it
package main

import (
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
)

const address = ":8080"

func main() {
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGTERM, syscall.SIGINT)
	if len(os.Args) > 1 && os.Args[1] == "pause" {
		pause(ended)
		return
	}
	go serveUDP()
	go func() {
		log.Fatal(http.ListenAndServe(address, http.HandlerFunc(answer)))
	}()
	<-ended
}

// pause is process 1 of a Pod whose containers share a process namespace.
func pause(ended <-chan os.Signal) {
	children := make(chan os.Signal, 1)
	signal.Notify(children, syscall.SIGCHLD)
	for {
		select {
		case <-ended:
			return
		case <-children:
			for {
				if pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil); pid <= 0 || err != nil {
					break
				}
			}
		}
	}
}

func answer(w http.ResponseWriter, request *http.Request) {
	fmt.Fprint(w, greeting(request.RemoteAddr))
}

func serveUDP() {
	socket, err := net.ListenPacket("udp", address)
	if err != nil {
		log.Fatal(err)
	}
	buffer := make([]byte, 2048)
	for {
		_, from, err := socket.ReadFrom(buffer)
		if err != nil {
			log.Print(err)
			continue
		}
		if _, err := socket.WriteTo([]byte(greeting(from.String())), from); err != nil {
			log.Print(err)
		}
	}
}

// greeting is one line: the cluster and Pod that answer, and the address that asked as this Pod sees it.
func greeting(remote string) string {
	host, _, err := net.SplitHostPort(remote)
	if err != nil {
		host = remote
	}
	pod, _ := os.Hostname()
	return fmt.Sprintf("cluster=%s pod=%s client=%s\n", os.Getenv("CLUSTER"), pod, host)
}
