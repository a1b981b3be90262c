package main

import (
	"os"

	"go.temporal.io/server/common/log"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"gopkg.in/natefinch/lumberjack.v2"
)

// Bounds of the log. A server without its database writes some 90 kB a second.
const (
	logSize  = 20 // megabytes of one file
	logFiles = 2  // earlier ones that are kept
)

// newLogger returns the log of the server: JSON lines, in a file that is kept small, or on
// standard error.
func newLogger(o options) log.Logger {
	var out zapcore.WriteSyncer = os.Stderr
	if o.logFile != "" {
		out = zapcore.AddSync(&lumberjack.Logger{Filename: o.logFile, MaxSize: logSize, MaxBackups: logFiles})
	}
	encoder := zapcore.NewJSONEncoder(log.DefaultZapEncoderConfig)
	return log.NewZapLogger(zap.New(zapcore.NewCore(encoder, zapcore.Lock(out), log.ParseZapLevel(o.logLevel))))
}
