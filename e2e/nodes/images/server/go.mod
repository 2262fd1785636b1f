// The program in the Pods of tests and of the demo.
module fleet.test/nodes/server

go 1.26.0
