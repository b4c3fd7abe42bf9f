#include "board.h"

#include <chrono>
#include <thread>

#include "mpi_error.h"

namespace understudy::backends {

namespace {

constexpr int kQuestionTag = 1;
constexpr int kAnswerTag = 2;
constexpr std::chrono::milliseconds kLookInterval{1};

}  // namespace

Board::Board(MPI_Comm comm, Answerer answerer) : comm_(comm), answerer_(std::move(answerer)) {
  listen();
}

void Board::withdraw() {
  MPI_Cancel(&listening_);
  MPI_Wait(&listening_, MPI_STATUS_IGNORE);
}

void Board::listen() {
  check_mpi(MPI_Irecv(&incoming_, sizeof(incoming_), MPI_BYTE, MPI_ANY_SOURCE, kQuestionTag, comm_,
                      &listening_),
            "MPI_Irecv");
}

void Board::serve() {
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

std::vector<Heard> Board::ask(const Question& question, const std::vector<int>& world_ranks,
                              double patience_s) {
  std::vector<MPI_Request> receives;
  questions_.push_back(std::make_unique<Question>(question));
  const std::size_t first = heard_.size();
  for (const int rank : world_ranks) {
    heard_.push_back(std::make_unique<Heard>());
    heard_.back()->world_rank = rank;
    check_mpi(MPI_Irecv(&heard_.back()->answer, sizeof(Answer), MPI_BYTE, rank, kAnswerTag, comm_,
                        &receives.emplace_back(MPI_REQUEST_NULL)),
              "MPI_Irecv");
    MPI_Request sending = MPI_REQUEST_NULL;
    check_mpi(MPI_Isend(questions_.back().get(), sizeof(Question), MPI_BYTE, rank, kQuestionTag,
                        comm_, &sending),
              "MPI_Isend");
    check_mpi(MPI_Request_free(&sending), "MPI_Request_free");
  }
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(patience_s);
  std::size_t missing = receives.size();
  while (missing > 0 && std::chrono::steady_clock::now() < end) {
    serve();
    for (std::size_t i = 0; i < receives.size(); ++i) {
      Heard& from = *heard_[first + i];
      int arrived = 0;
      if (!from.answered) {
        check_mpi(MPI_Test(&receives[i], &arrived, MPI_STATUS_IGNORE), "MPI_Test");
      }
      if (arrived != 0) {
        from.answered = true;
        --missing;
      }
    }
    std::this_thread::sleep_for(kLookInterval);
  }
  std::vector<Heard> result;
  for (std::size_t i = first; i < heard_.size(); ++i) {
    result.push_back(*heard_[i]);
  }
  return result;
}

}  // namespace understudy::backends
