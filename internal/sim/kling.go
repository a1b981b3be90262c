package sim

import (
	"net/http"
	"strconv"
	"strings"
)

func klingError(status, code int, message string) reply {
	return fail(status, map[string]any{"code": code, "message": message, "request_id": "simulated"})
}

var klingRefusals = refusals{
	faultPolicy:  klingError(http.StatusBadRequest, 1301, "Failure to pass the risk control system"),
	faultInvalid: klingError(http.StatusBadRequest, 1201, "duration value '7' is invalid"),
	faultBusy:    klingError(http.StatusTooManyRequests, 1303, "parallel task over resource pack limit"),
	faultUnpaid:  klingError(http.StatusTooManyRequests, 1102, "Account balance not enough"),
	faultError:   klingError(http.StatusInternalServerError, 5000, "Internal server error"),
	faultDown:    klingError(http.StatusServiceUnavailable, 5001, "Service temporarily unavailable"),
}

func (s *Server) klingRoutes() {
	for _, kind := range []string{
		"videos/text2video", "videos/image2video", "videos/omni-video", "videos/video-extend", "videos/avatar/image2video",
		"images/generations", "images/omni-image",
	} {
		s.handle("POST /kling/v1/"+kind, bearer, klingRefusals.or(klingSubmit))
		s.handle("GET /kling/v1/"+kind+"/{id}", bearer, refusals{faultDown: klingRefusals[faultDown]}.or(klingTask))
	}
}

func klingSubmit(e *exchange) reply {
	units := klingUnits(e)
	if strings.Contains(e.URL.Path, "/images/") || strings.Contains(e.URL.Path, "/avatar/") || strings.HasSuffix(e.URL.Path, "/video-extend") {
		units = "0.2" // a picture, or a short video
	}
	t := e.submit(units)
	e.callback(e.text("callback_url"), t, klingTask, ofData)
	return reply{status: http.StatusOK, charged: true, json: klingDocument(map[string]any{
		"task_id": t.id(), "task_status": "submitted", "task_info": map[string]any{}, "created_at": e.now.UnixMilli(),
		"updated_at": e.now.UnixMilli(),
	})}
}

// klingUnits is what a video takes: a second of Kling 3.0 0.6 units, of pro 0.8, and half as much again with sound; of
// Kling 2.5 and 2.6 half a unit, and twice that with sound.
func klingUnits(e *exchange) string {
	seconds, err := strconv.ParseFloat(e.text("duration"), 64)
	if err != nil {
		seconds = 5
	}
	rate, loud := 0.6, 1.5
	switch {
	case strings.HasPrefix(e.text("model_name"), "kling-v2-"):
		rate, loud = 0.5, 2
	case e.text("mode") == "pro":
		rate = 0.8
	}
	if e.text("sound") == "on" {
		rate *= loud
	}
	return strconv.FormatFloat(rate*seconds, 'f', -1, 64)
}

func klingDocument(data map[string]any) map[string]any {
	return map[string]any{"code": 0, "message": "SUCCEED", "request_id": "simulated", "data": data}
}

func klingTask(e *exchange) reply {
	t, found := e.ticket()
	if !found {
		return klingError(http.StatusNotFound, 1203, "task not found")
	}
	data := map[string]any{
		"task_id": t.id(), "task_status": "processing", "task_info": map[string]any{}, "created_at": t.Ready - 1000,
		"updated_at": e.now.UnixMilli(),
	}
	switch {
	case !t.finished(e.now):
	case t.Fault == faultPolicy:
		data["task_status"], data["task_status_msg"] = "failed", "Failure to pass the risk control system"
	case t.Fault != "":
		data["task_status"], data["task_status_msg"] = "failed", "Internal error"
	default:
		data["task_status"], data["final_unit_deduction"] = "succeed", t.Extra
		if strings.Contains(e.URL.Path, "/images/") {
			data["task_result"] = map[string]any{"images": []any{map[string]any{"index": 0, "url": e.file(t.Seed, "png")}}}
			break
		}
		data["task_result"] = map[string]any{"videos": []any{map[string]any{"id": t.id(), "url": e.file(t.Seed, "mp4"), "duration": "5.1"}}}
	}
	return ok(klingDocument(data))
}
