#include "board.h"

#include "mpi_error.h"

namespace understudy::backends {

namespace {

constexpr int kQuestionTag = 1;
constexpr int kAnswerTag = 2;

}  // namespace

Board::Board(MPI_Comm comm, Answerer answerer) : comm_(comm), answerer_(std::move(answerer)) {
  listen();
}

void Board::withdraw() {
  for (auto& [rank, peer] : peers_) {
    if (peer->heard.under_way) {
      MPI_Cancel(&peer->receive);
      MPI_Wait(&peer->receive, MPI_STATUS_IGNORE);
    }
  }
  MPI_Cancel(&listening_);
  MPI_Wait(&listening_, MPI_STATUS_IGNORE);
}

void Board::listen() {
  check_mpi(MPI_Irecv(&incoming_, sizeof(incoming_), MPI_BYTE, MPI_ANY_SOURCE, kQuestionTag, comm_,
                      &listening_),
            "MPI_Irecv");
}

void Board::serve() {
  for (auto& [rank, peer] : peers_) {
    int arrived = 0;
    if (peer->heard.under_way) {
      check_mpi(MPI_Test(&peer->receive, &arrived, MPI_STATUS_IGNORE), "MPI_Test");
    }
    if (arrived != 0) {
      peer->heard.under_way = false;
      peer->heard.answered = true;
      peer->heard.answer = peer->arriving;
    }
  }
  for (;;) {
    int arrived = 0;
    MPI_Status status;
    check_mpi(MPI_Test(&listening_, &arrived, &status), "MPI_Test");
    if (arrived == 0) {
      return;
    }
    answers_.push_back(std::make_unique<Answer>(answerer_(incoming_)));
    MPI_Request sending = MPI_REQUEST_NULL;
    check_mpi(MPI_Isend(answers_.back().get(), sizeof(Answer), MPI_BYTE, status.MPI_SOURCE,
                        kAnswerTag, comm_, &sending),
              "MPI_Isend");
    check_mpi(MPI_Request_free(&sending), "MPI_Request_free");
    listen();
  }
}

void Board::ask(const Question& question, int world_rank) {
  Peer& asked = peer(world_rank);
  if (asked.heard.under_way) {
    return;
  }
  asked.heard.answered = asked.heard.answered && asked.heard.question == question;
  asked.heard.question = question;
  asked.heard.asked = std::chrono::steady_clock::now();
  asked.heard.under_way = true;
  asked.sent = question;
  check_mpi(MPI_Irecv(&asked.arriving, sizeof(Answer), MPI_BYTE, world_rank, kAnswerTag, comm_,
                      &asked.receive),
            "MPI_Irecv");
  MPI_Request sending = MPI_REQUEST_NULL;
  check_mpi(
      MPI_Isend(&asked.sent, sizeof(Question), MPI_BYTE, world_rank, kQuestionTag, comm_, &sending),
      "MPI_Isend");
  check_mpi(MPI_Request_free(&sending), "MPI_Request_free");
}

Board::Peer& Board::peer(int world_rank) {
  std::unique_ptr<Peer>& peer = peers_[world_rank];
  if (peer == nullptr) {
    peer = std::make_unique<Peer>();
    peer->heard.world_rank = world_rank;
  }
  return *peer;
}

}  // namespace understudy::backends
